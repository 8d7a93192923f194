#ifndef HLOKIT_VERIFIER_H_
#define HLOKIT_VERIFIER_H_

#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// What the verifier asks of a module; hlo-verifier.md section 1. The defaults are those of a check
/// after reading: layouts are free, float precisions may mix.
struct VerifierOptions {
  /// "The same shape" means the same layout too where an opcode cannot change it (section 4).
  bool layout_sensitive = false;
  /// Operands of different float precision are allowed.
  bool allow_mixed_precision = true;
  /// Sizes written as `?` are allowed.
  bool allow_unbounded_dynamism = false;
  /// With layout_sensitive: operands of the rank of the result must have its layout for the opcodes
  /// that opcodes.def marks kKeeps. To be used after layout assignment (section 4.3).
  bool opcodes_keep_layouts = false;
  /// Also what other verifiers leave open (section 4.6): orders are permutations, bitcasts move no
  /// element, copies that change nothing (a warning). Implies layout_sensitive.
  bool strict_layouts = false;
  bool broadcast_dimensions_sorted = false;
  bool reshape_is_bitcast = false;  ///< every reshape outside fusions
  bool allow_bitcast_to_have_different_size = false;
  bool call_thread_names = false;        ///< callers and callees on one thread
  bool sharding_device_numbers = true;   ///< device ids below num_partitions
  bool names_unchanged = false;          ///< names equal their scheduling_name
  bool no_host_memory_space = false;     ///< memory space 5 does not occur
  bool no_collective_deadlocks = false;  ///< send/recv order of scheduled modules
  bool check_replica_groups = true;
  bool natural_element_sizes = false;  ///< E(…) only on types below 8 bits
  /// At most this many findings are kept; one note tells how many more there are.
  size_t max_findings = 100;
};

/// One problem. The place is known when the instruction was read from text.
struct VerifierFinding {
  Diagnostic diagnostic;
  InstId instruction;  ///< invalid when the problem is not with one instruction
  CompId computation;  ///< invalid when the problem is with the module
};

/// Everything that is wrong with a module, in the order of the checks: structure first; when that
/// is broken, nothing else is looked at. Never changes the module (new shapes may appear in its
/// pool). Linear in the size of the module.
std::vector<VerifierFinding> FindProblems(const Module& module,
                                          const VerifierOptions& options = {});

/// Fails with kVerifyFailed and one diagnostic per error; warnings do not count.
Status VerifyModule(const Module& module, const VerifierOptions& options = {});

}  // namespace hlokit

#endif  // HLOKIT_VERIFIER_H_
