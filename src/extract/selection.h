// Which instructions does an extract hold, and which values does it get from outside?
#ifndef HLOKIT_SRC_EXTRACT_SELECTION_H_
#define HLOKIT_SRC_EXTRACT_SELECTION_H_

#include <cstdint>
#include <vector>

#include "hlokit/extract.h"
#include "hlokit/module.h"

namespace hlokit {

enum class Role : uint8_t {
  kOutside,
  kKept,
  kStandIn,  ///< used by a kept instruction, and not kept itself
};

struct Selection {
  CompId computation;
  InstId root;  ///< what was asked for, or the end of the asynchronous operation it starts
  std::vector<Role> roles;  ///< by instruction
  bool unfinished = false;  ///< `root` starts an operation that has no end in this computation
};

Selection Select(const Module& module, InstId wanted, const ExtractOptions& options);

}  // namespace hlokit

#endif  // HLOKIT_SRC_EXTRACT_SELECTION_H_
