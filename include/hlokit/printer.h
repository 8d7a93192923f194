#ifndef HLOKIT_PRINTER_H_
#define HLOKIT_PRINTER_H_

#include <string>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// The option sets of hlo-text.md section 12. Comments in shapes and literals (/*index=5*/ in tuple
/// types, /*i0=0*/) do not depend on options.
struct PrintOptions {
  bool large_constants = false;
  bool metadata = true;  ///< also the metadata inside sharding, and the stack frame tables
  bool backend_config = true;
  bool operand_shapes = false;
  bool percent = true;
  bool signature = true;
  bool control_predecessors = true;
  bool index_comments = true;  ///< /*index=5*/ between operands
  bool layouts = true;
  bool async_sugar = false;  ///< custom-call-start(…) instead of async-start(…), calls=…
  bool compact_gte = false;  ///< %x#0#1 instead of get-tuple-element instructions
  // What only the canonical and the fingerprint set change.
  bool canonical_names = false;       ///< tmp_N by first appearance in each computation
  bool inline_computations = false;   ///< bodies of called computations instead of their names
  bool plain_constants_only = false;  ///< {...} unless integers, all 0 or all 1
  bool module_name = true;
  bool computation_names = true;
  bool infeed_outfeed_config = true;
  bool expand_replica_groups = false;  ///< iota groups as lists; mesh groups stay as they are
  bool topological_order = false;      ///< of computations, instead of ComputationPostOrder

  /// What dump files contain.
  static PrintOptions Default() { return {}; }
  /// Short but readable again ("short-parsable").
  static PrintOptions Short() {
    return {.large_constants = true,
            .metadata = false,
            .percent = false,
            .signature = false,
            .control_predecessors = false,
            .index_comments = false};
  }
  /// Equal for computations that differ in names and metadata only.
  static PrintOptions Canonical() {
    return {.metadata = false,
            .backend_config = false,
            .operand_shapes = true,
            .percent = false,
            .signature = false,
            .control_predecessors = false,
            .index_comments = false,
            .canonical_names = true,
            .inline_computations = true};
  }
  /// The canonical set without everything that should not tell two modules apart.
  static PrintOptions Fingerprint() {
    PrintOptions options = Canonical();
    options.plain_constants_only = true;
    options.module_name = false;
    options.computation_names = false;
    options.infeed_outfeed_config = false;
    options.expand_replica_groups = true;
    options.topological_order = true;
    return options;
  }
};

/// The module as text, as XLA prints dumps: byte for byte with the default options.
std::string PrintModule(const Module& module, const PrintOptions& options = {});

/// One instruction line without indentation and line break: "%name = shape opcode(%a), attr=…".
std::string PrintInstruction(const Module& module, InstId id, const PrintOptions& options = {});

/// The order in which computations are printed: callees first, from the computations that nobody
/// calls (hlo-text.md section 11.3). Linear; dead computations are left out.
std::vector<CompId> ComputationPostOrder(const Module& module);

/// The order in which the instructions of an unscheduled computation are printed: operands and
/// control predecessors first (hlo-text.md section 11.4). Linear; dead instructions are left out.
std::vector<InstId> InstructionPostOrder(const Module& module, CompId computation);

}  // namespace hlokit

#endif  // HLOKIT_PRINTER_H_
