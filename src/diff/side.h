// What does one of the two modules look like, independent of names, ids and copies?
#ifndef HLOKIT_SRC_DIFF_SIDE_H_
#define HLOKIT_SRC_DIFF_SIDE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Numbers for texts, the same ones for both modules.
class KeyTable {
 public:
  uint32_t Key(std::string text) {
    return keys_.try_emplace(std::move(text), static_cast<uint32_t>(keys_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> keys_;
};

/// A use of a value, whatever copies lie between.
struct Use {
  InstId user;
  uint32_t operand;
};

/// One module with the facts that matching looks at. Plumbing is what only passes values on:
/// copies, a get-tuple-element of a known tuple, a tuple of all elements of one value.
class Side {
 public:
  Side(const Module& module, KeyTable& keys);

  const Module& module() const { return module_; }
  /// Equal keys = equal shapes, also across modules; without and with layouts.
  uint32_t BareKey(ShapeId shape) const;
  uint32_t FullKey(ShapeId shape) const;

  /// Live instructions, operands before users.
  std::span<const InstId> Order(CompId computation) const { return order_[computation.value]; }
  /// Behind copies and tuples that repeat another one; the instruction itself when it is neither.
  InstId Origin(InstId id) const { return origin_[id.value]; }
  /// The value behind plumbing; the instruction itself when it is none.
  InstId Source(InstId id) const { return source_[id.value]; }
  bool IsPlumbing(InstId id) const { return source_[id.value] != id; }
  /// Opcode, shape, attributes.
  uint64_t Local(InstId id) const { return local_[id.value]; }
  /// The same with everything above it, plumbing looked through. For plumbing: that of its source.
  uint64_t Value(InstId id) const { return value_[id.value]; }
  /// Tells plumbing from its source.
  uint64_t Own(InstId id) const { return own_[id.value]; }
  /// Contents of a computation without layouts and plumbing, and with both.
  uint64_t Content(CompId id) const { return content_[id.value]; }
  uint64_t Exact(CompId id) const { return exact_content_[id.value]; }
  /// Users that are no plumbing.
  std::span<const Use> Uses(InstId id) const {
    return {uses_.data() + use_begin_[id.value], use_begin_[id.value + 1] - use_begin_[id.value]};
  }

 private:
  void Describe(CompId computation);
  void DescribeInstruction(InstId id);
  InstId FindSource(InstId id) const;
  InstId FindOrigin(InstId id) const;
  uint64_t LocalHash(InstId id) const;
  uint64_t AttrHash(uint64_t hash, const Attr& attr) const;
  uint64_t LiteralHash(uint64_t hash, LiteralId literal) const;
  void CollectUses();

  const Module& module_;
  KeyTable& keys_;
  mutable std::vector<uint32_t> bare_keys_, full_keys_;  // by shape, filled on demand
  std::vector<std::vector<InstId>> order_;               // by computation
  std::vector<uint64_t> content_, exact_content_;        // by computation
  // By instruction, as all that follow. `origin_` looks through copies and tuples that repeat
  // another one, `source_` into known tuples too.
  std::vector<InstId> origin_, source_;
  std::vector<uint64_t> local_, value_, own_, exact_;
  std::vector<uint32_t> use_begin_;
  std::vector<Use> uses_;
};

/// Attributes that say nothing about what is computed. They do not help to find partners, but are
/// compared afterwards.
bool IsDecoration(AttrKind kind);

/// The value of op_name in the metadata of an instruction, escaped as stored; empty when absent.
std::string_view OpName(const Module& module, InstId id);

}  // namespace hlokit

#endif  // HLOKIT_SRC_DIFF_SIDE_H_
