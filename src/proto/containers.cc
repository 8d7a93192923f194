// Which message is it that holds the module, and what stands around the module in it?
// (hlo-proto.md sections 1 and 2)
#include <fmt/format.h>

#include <algorithm>

#include "hlokit/proto.h"
#include "module_reader.h"
#include "module_writer.h"
#include "wire.h"

namespace hlokit {
namespace {

using proto::kBytesType;
using proto::kVarint;
using proto::WireField;
using proto::WireReader;
using proto::WireWriter;

/// The first bytes of a message, judged by their outermost fields. Looks at the fields that come
/// before anything large only; damaged messages still show what they wanted to be.
struct Outline {
  bool any = false;
  bool broken = false;
  bool one_is_bytes = false;
  std::string_view one;       // payload of the first field 1
  uint64_t numbers = 0;       // field numbers below 64 that are there
  uint64_t bytes_fields = 0;  // those of them that are length-delimited
  bool foreign = false;       // a field number that no container has
};

Outline OutlineOf(std::string_view bytes) {
  Outline out;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    out.any = true;
    if (field.number >= 64) {
      out.foreign = true;
      continue;
    }
    uint64_t bit = uint64_t{1} << field.number;
    if (field.number == 1 && (out.numbers & 2) == 0) {
      out.one_is_bytes = field.type == kBytesType;
      out.one = field.bytes;
    }
    out.numbers |= bit;
    if (field.type == kBytesType) out.bytes_fields |= bit;
  }
  out.broken = reader.problem().what != nullptr;
  return out;
}

bool IsText(std::string_view bytes) {
  for (char c : bytes) {
    unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) return false;
  }
  return true;
}

/// Could these bytes be an HloModuleProto: computations that start like computations?
bool LooksLikeModule(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && (field.type != kBytesType || !IsText(field.bytes))) return false;
    if (field.number == 2 && (field.type != kBytesType || !IsText(field.bytes))) return false;
    if (field.number == 3) {
      if (field.type != kBytesType) return false;
      WireReader inner(field.bytes);
      WireField first;
      // A computation starts with its name, or with an instruction when it has none.
      return inner.Next(&first) && (first.number == 1 || first.number == 2) &&
             first.type == kBytesType && (first.number == 2 || IsText(first.bytes));
    }
  }
  return false;
}

/// Splits a message into the payload of field 1 and everything else.
bool SplitFirst(std::string_view bytes, std::string_view* first, std::string* merged,
                std::string* rest, const char** at) {
  bool found = false;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number != 1 || field.type != kBytesType) {
      rest->append(field.raw);
    } else if (!found) {
      *first = field.bytes;
      found = true;
    } else {  // several occurrences of a message are one message
      if (merged->empty()) merged->assign(*first);
      merged->append(field.bytes);
    }
  }
  *at = reader.problem().at;
  return found && reader.problem().what == nullptr;
}

/// An unoptimized snapshot is a stream: the length of the message, the message, raw literals.
bool SplitStream(std::string_view bytes, std::string_view* message, std::string_view* tail) {
  WireReader reader(bytes);
  uint64_t length;
  if (!reader.Varint(&length)) return false;
  size_t at = static_cast<size_t>(reader.position() - bytes.data());
  if (length == 0 || length > bytes.size() - at) return false;
  *message = bytes.substr(at, length);
  *tail = bytes.substr(at + length);
  return true;
}

std::unexpected<Error> Broken(std::string_view bytes, const char* at) {
  std::string where = at == nullptr ? "" : fmt::format(" (at byte {})", at - bytes.data());
  return MakeError(ExitCode::kCannotParse, DiagId::kProtoBroken,
                   "this is no complete protobuf message" + where,
                   "the file is damaged or cut off");
}

std::unexpected<Error> NoModule() {
  return MakeError(ExitCode::kCannotParse, DiagId::kProtoNoModule,
                   "this protobuf message holds no HLO module",
                   "HloModuleProto, HloProto, HloModuleProtoWithConfig, HloSnapshot and "
                   "HloUnoptimizedSnapshot are read");
}

}  // namespace

std::optional<ProtoKind> DetectProto(std::string_view bytes) {
  Outline outer = OutlineOf(bytes);
  if (outer.any && outer.one_is_bytes) {
    if (LooksLikeModule(bytes)) return ProtoKind::kModule;
    if (LooksLikeModule(outer.one)) {
      // Field 3 tells HloProto from HloModuleProtoWithConfig; partitions make it an unoptimized
      // snapshot.
      if ((outer.numbers & (1u << 2)) != 0) {
        WireReader reader(bytes);
        WireField field;
        size_t twos = 0;
        bool partition = false;
        while (reader.Next(&field)) {
          if (field.number != 2 || field.type != kBytesType) continue;
          ++twos;
          // HloInputs has bytes fields 1 and 2 only; the configuration has numbers and many fields.
          Outline two = OutlineOf(field.bytes);
          partition |= !two.broken && (two.numbers & ~uint64_t{6}) == 0 &&
                       (two.numbers & ~two.bytes_fields) == 0 && two.any;
        }
        bool version = (outer.numbers & (1u << 3)) != 0 && (outer.bytes_fields & (1u << 3)) == 0;
        if (twos > 1 || version || partition) return ProtoKind::kUnoptimizedSnapshot;
        return ProtoKind::kModuleWithConfig;
      }
      return ProtoKind::kHlo;
    }
    Outline inner = OutlineOf(outer.one);
    if (inner.any && inner.one_is_bytes && LooksLikeModule(inner.one)) return ProtoKind::kSnapshot;
  }
  std::string_view message;
  std::string_view tail;
  if (SplitStream(bytes, &message, &tail)) {
    Outline stream = OutlineOf(message);
    if (!stream.broken && stream.one_is_bytes && LooksLikeModule(stream.one)) {
      return ProtoKind::kUnoptimizedSnapshot;
    }
  }
  return std::nullopt;
}

Result<Module> ReadProto(std::string bytes, const ProtoReadOptions& options, ProtoWrapper* wrapper,
                         std::vector<Diagnostic>* warnings) {
  if (bytes.size() > TextArena::kMaxBytes) {
    return MakeError(ExitCode::kCannotParse, DiagId::kInputTooLarge,
                     fmt::format("a proto of {} bytes is too large: hlokit reads up to {}",
                                 bytes.size(), TextArena::kMaxBytes));
  }
  std::optional<ProtoKind> kind = options.kind.has_value() ? options.kind : DetectProto(bytes);
  if (!kind.has_value()) {
    Outline outline = OutlineOf(bytes);
    if (outline.broken) {
      WireReader reader(bytes);
      WireField field;
      while (reader.Next(&field)) {
      }
      return Broken(bytes, reader.problem().at);
    }
    return NoModule();
  }
  ProtoWrapper local;
  ProtoWrapper& around = wrapper != nullptr ? *wrapper : local;
  around = ProtoWrapper{.kind = *kind};
  std::string_view message = bytes;
  if (*kind == ProtoKind::kUnoptimizedSnapshot) {
    Outline plain = OutlineOf(bytes);
    std::string_view tail;
    bool is_plain = plain.one_is_bytes && LooksLikeModule(plain.one);
    if (!is_plain && SplitStream(bytes, &message, &tail)) {
      around.has_length = true;
      around.tail = std::string(tail);
    } else {
      message = bytes;
    }
  }
  std::string_view module_bytes = message;
  std::string merged;
  std::string merged_inner;
  const char* at = nullptr;
  if (*kind != ProtoKind::kModule) {
    if (!SplitFirst(message, &module_bytes, &merged, &around.outer, &at)) {
      return at != nullptr ? Broken(bytes, at) : NoModule();
    }
    if (!merged.empty()) module_bytes = merged;
  }
  if (*kind == ProtoKind::kSnapshot) {
    std::string_view hlo = module_bytes;
    if (!SplitFirst(hlo, &module_bytes, &merged_inner, &around.inner, &at)) {
      return at != nullptr ? Broken(bytes, at) : NoModule();
    }
    if (!merged_inner.empty()) module_bytes = merged_inner;
  }
  bool in_place =
      module_bytes.data() >= bytes.data() && module_bytes.data() <= bytes.data() + bytes.size();
  if (!in_place) {
    std::string own(module_bytes);
    size_t size = own.size();
    ProtoReadOptions without = options;
    without.offsets_in_messages = false;
    return proto::ModuleReader(std::move(own), without, warnings).Read(0, size);
  }
  size_t begin = static_cast<size_t>(module_bytes.data() - bytes.data());
  size_t size = module_bytes.size();
  return proto::ModuleReader(std::move(bytes), options, warnings).Read(begin, size);
}

Result<std::string> WriteProto(const Module& module, const ProtoWrapper& wrapper) {
  std::string bytes;
  proto::ModuleWriter writer(module);
  if (!writer.Append(&bytes)) {
    return MakeError(ExitCode::kUnsupported, DiagId::kProtoCannotWrite, writer.problem(),
                     "write the module as text instead (--to text)");
  }
  if (wrapper.kind == ProtoKind::kModule) return bytes;
  // Field 1 comes first; what stood around it follows as it was.
  auto wrap = [](std::string payload, const std::string& rest) {
    std::string out;
    out.reserve(payload.size() + rest.size() + 16);
    WireWriter w(&out);
    w.PresentBytes(1, payload);
    out += rest;
    return out;
  };
  if (wrapper.kind == ProtoKind::kSnapshot) bytes = wrap(std::move(bytes), wrapper.inner);
  bytes = wrap(std::move(bytes), wrapper.outer);
  if (wrapper.has_length) {
    std::string out;
    WireWriter w(&out);
    w.Varint(bytes.size());
    bytes = out + bytes + wrapper.tail;
  }
  return bytes;
}

}  // namespace hlokit
