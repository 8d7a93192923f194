// Where do the operands of dots come from? Asked per dot, answered in one walk per computation.
#ifndef HLOKIT_SRC_BACKEND_DOT_OPERAND_ORIGINS_H_
#define HLOKIT_SRC_BACKEND_DOT_OPERAND_ORIGINS_H_

#include <unordered_set>

#include "hlokit/layout_rules.h"

namespace hlokit::backend {

class DotOperandOrigins {
 public:
  DotOperandOrigins(const LayoutServices& services, CompId computation)
      : services_(services), module_(services.module()), computation_(computation) {}

  /// The value comes from elements narrower than 8 bits, through operations with one operand and
  /// elementwise ones with two.
  bool IsPacked(InstId value) { return Contains(packed_, value); }
  /// The value is an entry parameter whose layout the caller left open, seen through operations
  /// that only move it around.
  bool IsFreeParameter(InstId value) { return Contains(free_, value); }

 private:
  bool Contains(const std::unordered_set<uint32_t>& set, InstId value) {
    if (!filled_) Fill();
    return set.contains(value.value);
  }
  void Fill();
  bool FindPacked(InstId value) const;
  bool FindFree(InstId value) const;

  const LayoutServices& services_;
  const Module& module_;
  CompId computation_;
  bool filled_ = false;
  std::unordered_set<uint32_t> packed_, free_;  // by InstId
};

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_DOT_OPERAND_ORIGINS_H_
