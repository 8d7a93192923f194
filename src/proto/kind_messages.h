// Which message of the schema belongs to which kind of file?
#ifndef HLOKIT_SRC_PROTO_KIND_MESSAGES_H_
#define HLOKIT_SRC_PROTO_KIND_MESSAGES_H_

#include "hlokit/proto.h"
#include "schema.h"

namespace hlokit::proto {

constexpr MessageId MessageOf(ProtoKind kind) {
  switch (kind) {
    case ProtoKind::kModule:
      return MessageId::HloModuleProto;
    case ProtoKind::kHlo:
      return MessageId::HloProto;
    case ProtoKind::kModuleWithConfig:
      return MessageId::HloModuleProtoWithConfig;
    case ProtoKind::kSnapshot:
      return MessageId::HloSnapshot;
    case ProtoKind::kUnoptimizedSnapshot:
      return MessageId::HloUnoptimizedSnapshot;
  }
  return MessageId::HloModuleProto;
}

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_KIND_MESSAGES_H_
