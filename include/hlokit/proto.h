#ifndef HLOKIT_PROTO_H_
#define HLOKIT_PROTO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// The messages that hold a module (hlo-proto.md section 1).
enum class ProtoKind : uint8_t {
  kModule,               ///< HloModuleProto
  kHlo,                  ///< HloProto
  kModuleWithConfig,     ///< HloModuleProtoWithConfig
  kSnapshot,             ///< HloSnapshot
  kUnoptimizedSnapshot,  ///< HloUnoptimizedSnapshot, with its length in front when it is binary
};

/// What stood around a module in its file. Bytes are kept as they were, so that writing the module
/// back into the same kind of message loses nothing.
struct ProtoWrapper {
  ProtoKind kind = ProtoKind::kHlo;
  std::string outer;        ///< all other fields of the outermost message
  std::string inner;        ///< kSnapshot: the other fields of its HloProto
  std::string tail;         ///< kUnoptimizedSnapshot: the arguments that follow the message
  bool has_length = false;  ///< kUnoptimizedSnapshot: a varint length stood in front
};

struct ProtoReadOptions {
  /// The message that the bytes hold; found out from the bytes when absent.
  std::optional<ProtoKind> kind;
  /// Unknown opcodes are errors instead of being kept with a warning.
  bool strict = false;
  /// Instructions are stored in file order instead of the order of their ids (hlo-proto.md section
  /// 3).
  bool renumber = false;
  /// Name what is wrong, not where: the bytes were made from a text proto, so offsets mean nothing.
  bool offsets_in_messages = true;
};

/// Which message do these bytes hold? Empty when they are none of ProtoKind. Looks at the outermost
/// fields only.
std::optional<ProtoKind> DetectProto(std::string_view bytes);

/// Reads a binary proto. Takes over the bytes: names stay byte ranges of them. Fields that the
/// module has no place for are kept in ModuleConfig::proto_extras and written back by WriteProto.
/// Fails with kCannotParse and one diagnostic.
Result<Module> ReadProto(std::string bytes, const ProtoReadOptions& options = {},
                         ProtoWrapper* wrapper = nullptr,
                         std::vector<Diagnostic>* warnings = nullptr);

/// Writes a module into a binary proto, in the order and with the ids of hlo-proto.md sections 3
/// and 4.
Result<std::string> WriteProto(const Module& module, const ProtoWrapper& wrapper = {});

/// Which message does this text proto hold, judged by the field that it starts with?
std::optional<ProtoKind> DetectPbtxt(std::string_view text);

/// Text proto to binary proto. Fails with kCannotParse and one diagnostic with line and column.
Result<std::string> PbtxtToProto(std::string_view text, ProtoKind kind);
/// Binary proto to text proto, in the order of the bytes; unknown fields appear by number.
Result<std::string> ProtoToPbtxt(std::string_view bytes, ProtoKind kind);
/// Binary proto to the JSON form of protocol buffers; unknown fields are left out.
Result<std::string> ProtoToJson(std::string_view bytes, ProtoKind kind);

}  // namespace hlokit

#endif  // HLOKIT_PROTO_H_
