// Small protos to test with: the frame of a module around the part that a test is about.
#ifndef HLOKIT_TESTS_UNIT_PROTO_PROTO_TEXTS_H_
#define HLOKIT_TESTS_UNIT_PROTO_PROTO_TEXTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/reader.h"

namespace hlokit {

/// f32[4] with the default layout, as a field named `name`.
inline std::string Vector(std::string_view name, std::string_view type = "F32") {
  return std::string(name) + " { element_type: " + std::string(type) +
         " dimensions: 4 layout { minor_to_major: 0 tail_padding_alignment_in_elements: 1 } "
         "is_dynamic_dimension: false } ";
}

/// The fields of an instruction behind its shape; `id` is a local id.
inline std::string Inst(std::string_view name, std::string_view opcode, int id,
                        std::string_view rest = "", std::string_view type = "F32") {
  return "instructions { name: \"" + std::string(name) + "\" opcode: \"" + std::string(opcode) +
         "\" " + Vector("shape", type) + "id: " + std::to_string(id) + " " + std::string(rest) +
         " }\n";
}

/// A module whose entry "e" has a parameter "p" (id 0) and what `body` adds; root is id 1.
inline std::string ModuleText(std::string_view body, std::string_view more = "",
                              std::string_view before = "") {
  return "name: \"m\"\n" + std::string(before) + "computations { name: \"e\" id: 7 root_id: 1\n" +
         Inst("p", "parameter", 0) + std::string(body) +
         "}\nentry_computation_id: 7\nhost_program_shape { " + Vector("parameters") +
         Vector("result") + "parameter_names: \"p0\" }\n" + std::string(more);
}

inline Result<Module> ReadPbtxt(std::string_view text, ProtoReadOptions options = {}) {
  Result<std::string> bytes = PbtxtToProto(text, ProtoKind::kModule);
  if (!bytes) return std::unexpected(bytes.error());
  options.kind = ProtoKind::kModule;
  return ReadProto(*bytes, options);
}

/// The line of the instruction "r", or the code and message of the error.
inline std::string LineOf(std::string_view text, ProtoReadOptions options = {}) {
  Result<Module> module = ReadPbtxt(text, options);
  if (!module) {
    const Diagnostic& d = module.error().diagnostics.at(0);
    return std::string(DiagCode(d.id));
  }
  InstId id = module->FindInstruction("r");
  return id.valid() ? PrintInstruction(*module, id) : PrintModule(*module);
}

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_PROTO_PROTO_TEXTS_H_
