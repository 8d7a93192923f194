// How does an instruction come into another module?
#ifndef HLOKIT_SRC_EXTRACT_TRANSFER_H_
#define HLOKIT_SRC_EXTRACT_TRANSFER_H_

#include <unordered_map>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Copies instructions into a module that shares the pools of text and shapes: names, strings and
/// shapes keep their ids, everything else is translated.
class Transfer {
 public:
  Transfer(const Module& from, Module& to)
      : from_(from), to_(to), instructions_(from.instruction_count()) {
    computations_.resize(from.computation_count());
  }

  /// An empty computation of the same name and thread.
  CompId Open(CompId computation);
  CompId Mapped(CompId computation) const { return computations_[computation.value]; }
  InstId Mapped(InstId instruction) const { return instructions_[instruction.value]; }
  void Map(InstId from, InstId to) { instructions_[from.value] = to; }

  /// The instruction without operands and attributes.
  InstId Begin(InstId instruction);
  /// Its operands and attributes, once everything that it refers to has begun. Control predecessors
  /// that did not come along are dropped.
  void Finish(InstId instruction);
  /// A whole computation, which must be open; the computations that it calls must be open too.
  void CopyAll(CompId computation);
  Attr Translate(const Attr& attr);

 private:
  LiteralId TranslateLiteral(LiteralId literal);
  Attr TranslateReferences(const Attr& attr);

  const Module& from_;
  Module& to_;
  std::vector<CompId> computations_;
  std::vector<InstId> instructions_;
  std::unordered_map<uint32_t, LiteralId> literals_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_EXTRACT_TRANSFER_H_
