// Which facts about a module do many copies need?
#include <algorithm>

#include "src/copies/classifier.h"

namespace hlokit {
namespace {

/// Live ranges can be compared only where each computation has one caller.
bool IsFlat(const Module& module) {
  std::vector<uint32_t> callers(module.computation_count(), 0);
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      switch (module.opcode(inst)) {
        case Opcode::kCall:
        case Opcode::kWhile:
        case Opcode::kConditional:
        case Opcode::kAsyncStart:
          for (CompId callee : module.called_computations(inst)) {
            if (++callers[callee.value] > 1) return false;
          }
          break;
        default:
          break;
      }
    }
  }
  return true;
}

bool IsPassedOn(Opcode opcode) {
  return opcode == Opcode::kBitcast || opcode == Opcode::kGetTupleElement;
}

}  // namespace

CopyContext::CopyContext(const Module& module, const ClassifyOptions& options)
    : module_(module),
      options_(options),
      fused_(module.computation_count(), 0),
      branch_of_(module.computation_count()),
      body_of_(module.computation_count()),
      control_(module.instruction_count(), 0),
      executions_(CountExecutions(module)) {
  bool any_copy = false;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      Opcode opcode = module.opcode(inst);
      any_copy |= opcode == Opcode::kCopy;
      optimised_ |= opcode == Opcode::kBitcast;
      for (InstId before : module.control_predecessors(inst)) {
        control_[inst.value] = control_[before.value] = 1;
      }
      for (CompId callee : module.called_computations(inst)) {
        if (opcode == Opcode::kFusion) fused_[callee.value] = 1;
        if (opcode == Opcode::kConditional) branch_of_[callee.value] = inst;
        if (opcode == Opcode::kWhile) body_of_[callee.value] = inst;
      }
    }
  }
  if (options.before != nullptr) {
    const Module& before = *options.before;
    for (CompId computation : before.computation_order()) {
      for (InstId inst : before.computation(computation).instructions) {
        if (before.opcode(inst) == Opcode::kCopy) before_names_.emplace(before.name(inst));
        if (before.opcode(inst) == Opcode::kTranspose) {
          std::span<const int64_t> dims = before.dimensions(inst);
          before_transposes_.emplace_back(dims.begin(), dims.end());
        }
      }
    }
    std::sort(before_transposes_.begin(), before_transposes_.end());
  }
  if (!any_copy || !options.live_ranges || !IsFlat(module)) return;
  Result<std::vector<LifetimeCopy>> needed = FindNeededCopies(module);
  if (!needed) return;
  for (const LifetimeCopy& copy : *needed) {
    if (copy.overlap != OverlapKind::kLayout) needed_.emplace(copy.copy.value, copy);
  }
}

bool CopyContext::HasControlEdges(InstId inst) const { return control_[inst.value] != 0; }

bool CopyContext::HadTranspose(std::span<const int64_t> dimensions) const {
  std::vector<int64_t> wanted(dimensions.begin(), dimensions.end());
  return std::binary_search(before_transposes_.begin(), before_transposes_.end(), wanted);
}

const LifetimeCopy* CopyContext::Needed(InstId copy) const {
  auto found = needed_.find(copy.value);
  return found == needed_.end() ? nullptr : &found->second;
}

InstId CopyContext::Producer(InstId copy) const {
  InstId at = copy;
  if (module_.opcode(copy) == Opcode::kCopyDone) at = module_.operand(copy, 0);
  if (module_.operand_count(at) == 0) return at;
  at = module_.operand(at, 0);
  while (IsPassedOn(module_.opcode(at)) && module_.operand_count(at) > 0) {
    InstId from = module_.operand(at, 0);
    if (module_.opcode(at) == Opcode::kGetTupleElement && module_.opcode(from) == Opcode::kTuple) {
      uint64_t index = static_cast<uint64_t>(module_.tuple_index(at));
      if (index >= module_.operand_count(from)) return at;
      from = module_.operand(from, static_cast<uint32_t>(index));
    }
    at = from;
  }
  return at;
}

InstId CopyContext::Consumer(InstId inst, uint32_t* operand) const {
  InstId at = inst;
  while (!module_.users(at).empty()) {
    InstId user = module_.users(at)[0];
    Opcode opcode = module_.opcode(user);
    std::span<const InstId> all = module_.operands(user);
    *operand = static_cast<uint32_t>(std::find(all.begin(), all.end(), at) - all.begin());
    if (opcode != Opcode::kBitcast && opcode != Opcode::kCopyDone) return user;
    at = user;
  }
  return {};
}

}  // namespace hlokit
