// Which computations of two modules are the same ones, and which of their instructions?
#ifndef HLOKIT_SRC_DIFF_MATCH_H_
#define HLOKIT_SRC_DIFF_MATCH_H_

#include <unordered_set>
#include <vector>

#include "src/diff/instruction_match.h"
#include "src/diff/side.h"

namespace hlokit {

/// Two computations that are compared with each other.
struct ComputationPair {
  enum class Kind : uint8_t {
    kPartners,
    kVariantOfA,  ///< `a` has a partner already; `b` is one more of its kind, without a partner
    kVariantOfB,
  };
  CompId a, b;
  Kind kind = Kind::kPartners;
  InstructionPairs instructions;
};

struct ModuleMatch {
  std::vector<ComputationPair> pairs;     ///< the entries first
  std::vector<CompId> of_a, of_b;         ///< by computation: its partner
  std::unordered_set<uint64_t> compared;  ///< PairKey of all pairs
};

constexpr uint64_t PairKey(CompId a, CompId b) {
  return static_cast<uint64_t>(a.value) << 32 | b.value;
}

ModuleMatch MatchModules(const Side& a, const Side& b);

}  // namespace hlokit

#endif  // HLOKIT_SRC_DIFF_MATCH_H_
