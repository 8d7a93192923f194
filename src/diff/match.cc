// Which computations of two modules are the same ones? Entries are; from there on, what the same
// instructions call at the same place. The rest goes by name, then by contents.
#include "src/diff/match.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace hlokit {
namespace {

class ModuleMatcher {
 public:
  ModuleMatcher(const Side& a, const Side& b) : a_(a), b_(b), instructions_(a, b) {
    match_.of_a.resize(a.module().computation_count());
    match_.of_b.resize(b.module().computation_count());
    for (CompId id : a.module().computation_order()) names_a_.emplace(a.module().name(id), id);
    for (CompId id : b.module().computation_order()) names_b_.emplace(b.module().name(id), id);
  }

  ModuleMatch Run() {
    Pair(a_.module().entry(), b_.module().entry());
    Follow();
    if (instructions_.trusts_names()) PairByName();
    Follow();
    PairByContent();
    Follow();
    return std::move(match_);
  }

 private:
  bool FreeA(CompId a) const { return !match_.of_a[a.value].valid(); }
  bool FreeB(CompId b) const { return !match_.of_b[b.value].valid(); }
  bool SameContent(CompId a, CompId b) const { return a_.Content(a) == b_.Content(b); }

  void Pair(CompId a, CompId b) {
    ComputationPair::Kind kind = ComputationPair::Kind::kPartners;
    if (!FreeA(a)) kind = ComputationPair::Kind::kVariantOfA;
    if (!FreeB(b)) kind = ComputationPair::Kind::kVariantOfB;
    if (FreeA(a)) match_.of_a[a.value] = b;
    if (FreeB(b)) match_.of_b[b.value] = a;
    match_.compared.insert(PairKey(a, b));
    match_.pairs.push_back({a, b, kind, {}});
  }

  /// Instructions of all pairs, and the pairs that follow from them, until nothing is new. Callees
  /// that look alike are paired at once, others when everything alike has been found.
  void Follow() {
    while (next_ < match_.pairs.size() || next_weak_ < weak_.size()) {
      if (next_ < match_.pairs.size()) {
        FollowPair(next_++);
      } else {
        PairWeak(weak_[next_weak_++]);
      }
    }
  }

  void FollowPair(size_t index) {
    CompId a = match_.pairs[index].a, b = match_.pairs[index].b;
    InstructionPairs pairs = instructions_.Match(a, b);
    for (auto [x, y] : pairs) {
      std::span<const CompId> callees_a = a_.module().called_computations(x);
      std::span<const CompId> callees_b = b_.module().called_computations(y);
      if (callees_a.size() != callees_b.size()) continue;
      for (size_t k = 0; k < callees_a.size(); ++k) Propose(callees_a[k], callees_b[k]);
    }
    match_.pairs[index].instructions = std::move(pairs);
  }

  void Propose(CompId a, CompId b) {
    if (!FreeA(a) && !FreeB(b)) return;
    std::string_view name_a = a_.module().name(a), name_b = b_.module().name(b);
    bool alike = SameContent(a, b) || (instructions_.trusts_names() && name_a == name_b);
    // One of several clones: the one with the right name may come later.
    if (alike && name_a != name_b && instructions_.trusts_names()) {
      auto namesake_of_a = names_b_.find(name_a);
      auto namesake_of_b = names_a_.find(name_b);
      alike = (namesake_of_a == names_b_.end() || !FreeB(namesake_of_a->second) ||
               !SameContent(a, namesake_of_a->second)) &&
              (namesake_of_b == names_a_.end() || !FreeA(namesake_of_b->second) ||
               !SameContent(namesake_of_b->second, b));
    }
    if (alike && FreeA(a) && FreeB(b)) return Pair(a, b);
    weak_.push_back({a, b});
  }

  /// One of the two may have a partner by now; then the other one is a variant if it computes the
  /// same. Each computation becomes a variant once at most, so this stays linear.
  void PairWeak(std::pair<CompId, CompId> proposal) {
    auto [a, b] = proposal;
    if (FreeA(a) == FreeB(b)) {
      if (FreeA(a)) Pair(a, b);
      return;
    }
    size_t size_a = a_.Order(a).size(), size_b = b_.Order(b).size();
    bool similar_size = std::max(size_a, size_b) <= 2 * std::min(size_a, size_b) + 16;
    if (similar_size && SameContent(a, b)) Pair(a, b);
  }

  void PairByName() {
    for (CompId a : a_.module().computation_order()) {
      auto found = names_b_.find(a_.module().name(a));
      if (FreeA(a) && found != names_b_.end() && FreeB(found->second)) Pair(a, found->second);
    }
  }

  void PairByContent() {
    std::unordered_map<uint64_t, std::vector<CompId>> waiting;
    std::span<const CompId> order = b_.module().computation_order();
    for (size_t i = order.size(); i-- > 0;) {
      if (FreeB(order[i])) waiting[b_.Content(order[i])].push_back(order[i]);
    }
    for (CompId a : a_.module().computation_order()) {
      if (!FreeA(a)) continue;
      auto found = waiting.find(a_.Content(a));
      if (found == waiting.end() || found->second.empty()) continue;
      Pair(a, found->second.back());
      found->second.pop_back();
    }
  }

  const Side& a_;
  const Side& b_;
  InstructionMatcher instructions_;
  std::unordered_map<std::string_view, CompId> names_a_, names_b_;
  ModuleMatch match_;
  size_t next_ = 0;  // pairs before this one have been followed
  std::vector<std::pair<CompId, CompId>> weak_;
  size_t next_weak_ = 0;
};

}  // namespace

ModuleMatch MatchModules(const Side& a, const Side& b) { return ModuleMatcher(a, b).Run(); }

}  // namespace hlokit
