// --prove: did each pass leave the values of the module as they were?
#ifndef HLOKIT_TOOLS_HLO_OPT_PROVE_H_
#define HLOKIT_TOOLS_HLO_OPT_PROVE_H_

#include <memory>
#include <string>
#include <vector>

#include "hlokit/equal.h"
#include "hlokit/pass.h"

namespace hlokit {

/// Runs the module in front of and behind each pass that changed it on several sets of inputs. A
/// value that differs is an error (A010, kVerifyFailed); a module that cannot be run is noted in
/// the report.
class ProveObserver : public PassObserver {
 public:
  explicit ProveObserver(int64_t seeds) { options_.seeds = seeds; }
  Status Start(const Module&, const Pipeline&, std::span<const PipelineStep* const> steps) override;
  Status Before(const Module& module, const PipelineStep& step) override;
  Status After(const Module& module, const PipelineStep& step, const PipelineStep* next,
               bool changed) override;
  /// One line per pass.
  std::string Report() const { return report_; }

 private:
  EqualOptions options_;
  std::unique_ptr<Module> before_;
  std::string report_;
  bool assigned_ = false;  // layout assignment has run: bytes are read strictly
};

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_PROVE_H_
