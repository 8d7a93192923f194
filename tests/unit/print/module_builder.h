#ifndef HLOKIT_TESTS_UNIT_PRINT_MODULE_BUILDER_H_
#define HLOKIT_TESTS_UNIT_PRINT_MODULE_BUILDER_H_

#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Builds small modules by hand, so that the printer is tested without the reader.
struct ModuleBuilder {
  Module module;

  explicit ModuleBuilder(std::string_view name = "t") { module.config().name = std::string(name); }

  ShapeId Array(ElementType type, std::vector<int64_t> sizes) {
    const LayoutId layout = module.shapes().DescendingLayout(static_cast<uint32_t>(sizes.size()));
    return module.shapes().Array(type, sizes, layout);
  }
  ShapeId F32(std::vector<int64_t> sizes = {}) { return Array(ElementType::kF32, sizes); }
  ShapeId S32(std::vector<int64_t> sizes = {}) { return Array(ElementType::kS32, sizes); }
  ShapeId Tuple(std::vector<ShapeId> members) { return module.shapes().Tuple(members); }

  CompId Computation(std::string_view name) {
    const CompId id = module.AddComputation(module.text().Append(name));
    module.set_entry(id);  // the last one stays
    return id;
  }
  InstId Add(CompId computation, std::string_view name, Opcode opcode, ShapeId shape,
             std::vector<InstId> operands = {}, std::vector<Attr> attributes = {}) {
    const InstId id =
        module.AddInstruction(computation, opcode, shape, operands, module.text().Append(name));
    module.SetAttributes(id, attributes);
    module.computation(computation).root = id;  // the last one stays
    return id;
  }
  InstId Parameter(CompId computation, std::string_view name, ShapeId shape, int64_t number) {
    std::vector<InstId>& parameters = module.computation(computation).parameters;
    const InstId id = Add(computation, name, Opcode::kParameter, shape, {},
                          {Attr::Integer(AttrKind::kParameterNumber, number)});
    if (parameters.size() <= static_cast<size_t>(number)) {
      parameters.resize(static_cast<size_t>(number) + 1);
    }
    parameters[static_cast<size_t>(number)] = id;
    return id;
  }
  template <typename T>
  LiteralId Literal(ShapeId shape, std::vector<T> values) {
    const LiteralId id = module.AddLiteral({.shape = shape});
    const std::span<std::byte> bytes = module.AllocateLiteralBytes(id, values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return id;
  }
  InstId Constant(CompId computation, std::string_view name, LiteralId literal) {
    return Add(computation, name, Opcode::kConstant, module.literal(literal).shape, {},
               {module.IdAttribute(AttrKind::kConstantLiteral, literal.value)});
  }
  Attr Calls(std::vector<CompId> computations) {
    std::vector<uint32_t> ids;
    for (CompId id : computations) ids.push_back(id.value);
    return module.RefsAttribute(AttrKind::kCalledComputations, ids);
  }
  Attr After(std::vector<InstId> instructions) {
    std::vector<uint32_t> ids;
    for (InstId id : instructions) ids.push_back(id.value);
    return module.RefsAttribute(AttrKind::kControlPredecessors, ids);
  }
  Attr Int(AttrKind kind, int64_t value) { return Attr::Integer(kind, value); }
  Attr Ints(AttrKind kind, std::vector<int64_t> values) {
    return module.IntsAttribute(kind, values);
  }
  Attr Text(AttrKind kind, std::string_view text) { return module.TextAttribute(kind, text); }

  /// The layout of the entry as the reader would take it from its parameters and root.
  void SetEntryLayout() {
    const ComputationData& entry = module.computation(module.entry());
    ComputationLayout layout;
    for (InstId parameter : entry.parameters) layout.parameters.push_back(module.shape(parameter));
    layout.result = module.shape(entry.root);
    module.config().entry_computation_layout = layout;
  }
};

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_PRINT_MODULE_BUILDER_H_
