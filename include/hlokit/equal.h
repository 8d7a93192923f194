#ifndef HLOKIT_EQUAL_H_
#define HLOKIT_EQUAL_H_

#include <string>
#include <vector>

#include "hlokit/eval.h"
#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct EqualOptions {
  /// Sets of inputs to try: distinct elements first, then extreme ones, then random ones.
  int64_t seeds = 4;
  uint64_t first_seed = 0;
  /// How far floats may be apart where one of the modules computes with floats; modules that only
  /// move data must agree in every bit.
  double ulps = 16;
  int64_t devices = 0;  ///< 0 = as many as the modules name
  /// EvalOptions::strict_layouts for each of them.
  bool strict_left = false, strict_right = false;
  uint64_t max_bytes = uint64_t{4} << 30;
  uint64_t max_work = uint64_t{40} << 30;
};

/// Where two modules were found to differ.
struct EqualMismatch {
  InputRule rule = InputRule::kDistinct;
  uint64_t seed = 0;
  uint32_t device = 0;
  Difference difference;         ///< in the result
  std::vector<int64_t> element;  ///< multi-index of difference.element
  /// The first instruction of the right module, in the order of execution, whose value is not that
  /// of its counterpart although those of its operands are; empty when there is none.
  std::string left_instruction, right_instruction;
  std::string matched_by;  ///< "name" or "position"
  Difference parting;      ///< in the value of that instruction
};

struct EqualReport {
  bool equal = true;
  bool bit_equal = true;                  ///< no run needed the tolerance
  int64_t runs = 0;                       ///< sets of inputs that were run on both
  std::vector<EqualMismatch> mismatches;  ///< at most one
  std::vector<std::string> stand_ins;     ///< as EvalOptions::stand_ins, of the left module
};

/// Runs two modules on the same inputs and compares the results. Fails with kUsage (A009) when the
/// parameters or results do not correspond, and as Evaluate does when one of them cannot be run.
Result<EqualReport> CompareModules(const Module& left, const Module& right,
                                   const EqualOptions& options = {});

/// "random", "distinct", "extreme" or "golden-rule".
std::string_view InputRuleName(InputRule rule);

/// A few lines for people: what differs where.
std::string EqualText(const EqualReport& report);

}  // namespace hlokit

#endif  // HLOKIT_EQUAL_H_
