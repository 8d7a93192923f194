// Which instructions of a computation belong to the same domain?
#ifndef HLOKIT_SRC_PASSES_SHARED_DOMAINS_H_
#define HLOKIT_SRC_PASSES_SHARED_DOMAINS_H_

#include <cstdint>
#include <unordered_map>

#include "hlokit/module.h"

namespace hlokit {

/// collective-combiners.md section 3: connected parts between `domain` instructions, numbered by
/// the metadata of a neighbouring domain instruction; 0 where there is none.
class DomainMap {
 public:
  DomainMap(const Module& module, CompId computation);
  uint32_t id(InstId inst) const {
    auto found = ids_.find(inst.value);
    return found == ids_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<uint32_t, uint32_t> ids_;  // empty without domain instructions
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_DOMAINS_H_
