// Values that cannot be copied: transfers that are under way.
#ifndef HLOKIT_SRC_COPY_INSERTION_TRANSFERS_H_
#define HLOKIT_SRC_COPY_INSERTION_TRANSFERS_H_

#include "hlokit/opcode.h"

namespace hlokit::copies {

constexpr bool StartsTransfer(Opcode opcode) {
  return opcode == Opcode::kSend || opcode == Opcode::kRecv || opcode == Opcode::kCopyStart;
}

constexpr bool EndsTransfer(Opcode opcode) {
  return opcode == Opcode::kSendDone || opcode == Opcode::kRecvDone || opcode == Opcode::kCopyDone;
}

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_TRANSFERS_H_
