// Parameters, constants, tuples, copies: values that are handed on or read in another way.
#include "fmt/format.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

/// out[lane] = f(lane) for every device of the frame.
template <typename F>
Status ForDevices(const Frame& frame, DeviceValues* out, F f) {
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    ASSIGN_OR_RETURN((*out)[lane], f(lane));
  }
  return {};
}

Status Element(Engine& e, Frame& frame, InstId id, size_t index, DeviceValues* out) {
  const DeviceValues& tuples = e.Operand(frame, id, 0);
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    const Value& tuple = tuples[lane];
    if (tuple.elements == nullptr || index >= tuple.elements->size()) {
      return e.Refuse(id, "the operand has no such element");
    }
    return e.PassOn(id, (*tuple.elements)[index], e.module().shape(id));
  });
}

}  // namespace

Status Parameter(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const size_t number = static_cast<size_t>(e.module().parameter_number(id));
  if (number >= frame.arguments.size()) return e.Refuse(id, "has no argument");
  return ForDevices(frame, out, [&](size_t lane) {
    return e.PassOn(id, frame.arguments[number][lane], e.module().shape(id));
  });
}

Status Constant(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  // Leaves of the literal in pre-order.
  std::vector<LiteralId> stack = {module.literal_of(id)};
  std::vector<Value> leaves;
  std::vector<ShapeId> shapes;
  for (ShapeId leaf : module.shapes().Subshapes(module.shape(id))) {
    if (!module.shapes().IsTuple(leaf)) shapes.push_back(leaf);
  }
  while (!stack.empty()) {
    const LiteralId literal = stack.back();
    stack.pop_back();
    const LiteralData& data = module.literal(literal);
    if (data.elided) {
      std::unexpected<Error> error =
          e.Refuse(id, "its value was elided ({...})", DiagId::kElidedValue);
      error.error().diagnostics[0].help =
          "dump the module with large constants (--xla_dump_large_constants)";
      return error;
    }
    if (module.shapes().IsTuple(data.shape)) {
      stack.insert(stack.end(), data.elements.rbegin(), data.elements.rend());
      continue;
    }
    if (leaves.size() == shapes.size()) return e.Refuse(id, "the value has another structure");
    const ShapeId shape = shapes[leaves.size()];
    const std::span<const std::byte> bytes = module.literal_bytes(literal);
    const ElementType type = module.shapes().type(shape);
    const int64_t count = module.shapes().ElementCount(shape);
    if (!module.shapes().IsArray(shape) ||
        bytes.size() != static_cast<uint64_t>(count) * static_cast<uint64_t>(StorageBytes(type))) {
      return e.Refuse(id, "the value has another size than the shape");
    }
    std::vector<std::byte> elements(bytes.begin(), bytes.end());
    if (IsIntegral(type)) WrapPacked(type, elements.data(), count);
    ASSIGN_OR_RETURN(Value value, e.Store(id, shape, elements.data()));
    leaves.push_back(std::move(value));
  }
  if (leaves.size() != shapes.size()) return e.Refuse(id, "the value has another structure");
  const Value value = e.FromLeaves(module.shape(id), leaves);
  out->assign(frame.devices.size(), value);
  return {};
}

Status Tuple(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    std::vector<Value> elements;
    for (uint32_t i = 0; i < module.operand_count(id); ++i) {
      ASSIGN_OR_RETURN(Value element, e.PassOn(id, e.Operand(frame, id, i)[lane],
                                               module.shapes().element(module.shape(id), i)));
      elements.push_back(std::move(element));
    }
    return e.Tuple(module.shape(id), std::move(elements));
  });
}

Status GetTupleElement(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  return Element(e, frame, id, static_cast<size_t>(e.module().tuple_index(id)), out);
}
Status FirstElement(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  return Element(e, frame, id, 0, out);
}
Status SecondElement(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  return Element(e, frame, id, 1, out);
}

Status PassFirst(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const DeviceValues& values = e.Operand(frame, id, 0);
  return ForDevices(frame, out,
                    [&](size_t lane) { return e.PassOn(id, values[lane], e.module().shape(id)); });
}

Status Copy(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const DeviceValues& values = e.Operand(frame, id, 0);
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    TRY(e.AddWork(id, e.shapes().LogicalBytes(e.module().shape(id))));
    return e.Relayout(id, values[lane], e.module().shape(id));
  });
}

Status CopyStart(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const ShapePool& shapes = e.shapes();
  const ShapeId shape = e.module().shape(id);
  if (!shapes.IsTuple(shape) || shapes.element_count(shape) < 2) {
    return e.Refuse(id, "the result is not (destination, source, context)");
  }
  const DeviceValues& values = e.Operand(frame, id, 0);
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    ASSIGN_OR_RETURN(Value target, e.Relayout(id, values[lane], shapes.element(shape, 0)));
    ASSIGN_OR_RETURN(Value source, e.PassOn(id, values[lane], shapes.element(shape, 1)));
    std::vector<Value> elements = {std::move(target), std::move(source)};
    for (uint32_t i = 2; i < shapes.element_count(shape); ++i) {
      ASSIGN_OR_RETURN(Value context, e.Zero(id, shapes.element(shape, i)));
      elements.push_back(std::move(context));
    }
    return e.Tuple(shape, std::move(elements));
  });
}

Status Bitcast(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  const ShapeId shape = module.shape(id), from = module.shape(module.operand(id, 0));
  const DeviceValues& values = e.Operand(frame, id, 0);
  if (shape == from) return PassFirst(e, frame, id, out);
  if (!e.shapes().IsArray(shape) || !e.shapes().IsArray(from)) {
    return e.Refuse(id, "only arrays can be reinterpreted");
  }
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    ASSIGN_OR_RETURN(Value value, e.Relayout(id, values[lane], from));
    ASSIGN_OR_RETURN(const PhysicalOrder* const order, e.Order(id, shape));
    if (order->bytes != value.bytes->size()) {
      return e.Refuse(id,
                      fmt::format("{} bytes are read as {}, which takes {}", value.bytes->size(),
                                  e.shapes().Text(shape), order->bytes),
                      DiagId::kBytesDoNotFit);
    }
    value.shape = shape;
    return value;
  });
}

Status GetDimensionSize(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  // Arrays are always full: a dynamic dimension has its bound.
  const Module& module = e.module();
  const int64_t size =
      module.shapes().sizes(module.shape(module.operand(id, 0)))[module.dimensions(id)[0]];
  if (size == kUnboundedSize) return e.Refuse(id, "the size has no bound");
  const int32_t number = static_cast<int32_t>(size);
  ASSIGN_OR_RETURN(const Value value,
                   e.Store(id, module.shape(id), reinterpret_cast<const std::byte*>(&number)));
  out->assign(frame.devices.size(), value);
  return {};
}

Status SetDimensionSize(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  const ShapeId shape = module.shape(id);
  const int64_t size = module.shapes().sizes(shape)[module.dimensions(id)[0]];
  const DeviceValues& values = e.Operand(frame, id, 0);
  const DeviceValues& wanted = e.Operand(frame, id, 1);
  return ForDevices(frame, out, [&](size_t lane) -> Result<Value> {
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, wanted[lane]));
    if (IntegerAt(e.View(wanted[lane], *bytes), 0) != size) {
      return e.Refuse(id, "arrays that are not full are not simulated");
    }
    return e.Relayout(id, values[lane], shape);
  });
}

}  // namespace hlokit::eval
