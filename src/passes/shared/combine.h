// Which collectives are put together into one, and how?
// One grouper for all combiners: a pass gives the key of an instruction and says how its dimension
// is stored; collective-combiners.md sections 1, 4 and 5.
#ifndef HLOKIT_SRC_PASSES_SHARED_COMBINE_H_
#define HLOKIT_SRC_PASSES_SHARED_COMBINE_H_

#include <functional>
#include <optional>
#include <string>

#include "hlokit/pass.h"
#include "src/passes/shared/domains.h"

namespace hlokit {

/// What all combiners share; one instance per run.
struct CombinerSetup {
  Opcode opcode;
  int64_t bytes = 0;
  int64_t count = 0;
  bool stock = false;
  bool by_dim = true;
  bool skip_while_bodies = false;
  /// Only collectives with these groups are candidates; empty = all.
  std::string groups;
};

/// The options every combiner has, plus the ones about dimensions.
std::span<const OptionSpec> AllReduceCombinerOptions();
std::span<const OptionSpec> DimensionCombinerOptions();
CombinerSetup SetupFromOptions(Opcode opcode, const PassOptions& options);

/// What a key function may look at.
struct KeyInput {
  const Module& module;
  Rewriter& rewriter;
  const DomainMap& domains;
  const CombinerSetup& setup;
  InstId inst;
};
/// Equal texts may be combined; nothing = not a candidate.
using KeyFunction = std::function<std::optional<std::string>(const KeyInput&)>;

/// The key of section 2.1: reduction, domain, channel present, device ids, groups. Nothing when the
/// instruction has control edges or its reduction is no plain function of two values.
std::optional<std::string> ReductionKey(const KeyInput& input);
/// The instruction that a reduction computes, when it has two parameters and one instruction.
InstId PlainReduction(const Module& module, InstId collective);

/// Runs the whole pass. `changed` when something was combined.
Result<bool> CombineCollectives(Module& module, const CombinerSetup& setup, const KeyFunction& key,
                                PassContext& context);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_COMBINE_H_
