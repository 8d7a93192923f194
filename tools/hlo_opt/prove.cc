// --prove: did each pass leave the values of the module as they were?
#include "tools/hlo_opt/prove.h"

#include "fmt/format.h"

namespace hlokit {
namespace {

/// Passes after which the layouts of neighbours agree.
bool AssignsLayouts(std::string_view pass) { return pass == "layout-assignment"; }

/// Passes that stamp layouts without moving anything: bytes mean something else from then on.
bool StampsLayouts(std::string_view pass) { return pass == "io-layout-normalization"; }

}  // namespace

Status ProveObserver::Start(const Module&, const Pipeline&, std::span<const PipelineStep* const>) {
  assigned_ = false;
  return {};
}

Status ProveObserver::Before(const Module& module, const PipelineStep&) {
  before_ = std::make_unique<Module>(module);
  return {};
}

Status ProveObserver::After(const Module& module, const PipelineStep& step, const PipelineStep*,
                            bool) {
  const std::string& pass = step.pass->name;
  options_.strict_left = assigned_;
  assigned_ = (assigned_ || AssignsLayouts(pass)) && !StampsLayouts(pass);
  options_.strict_right = assigned_;
  const std::unique_ptr<Module> before = std::move(before_);
  if (before == nullptr) return {};
  Result<EqualReport> compared = CompareModules(*before, module, options_);
  if (!compared) {
    report_ +=
        fmt::format("prove: {}: not proven: {}\n", pass,
                    compared.error().diagnostics.empty() ? "the module cannot be run"
                                                         : compared.error().diagnostics[0].message);
    return {};
  }
  const std::string text = EqualText(*compared);
  if (compared->equal) {
    report_ +=
        fmt::format("prove: {}: {}", pass, text.substr(text.rfind('\n', text.size() - 2) + 1));
    return {};
  }
  return MakeError(ExitCode::kVerifyFailed, DiagId::kValuesDiffer,
                   fmt::format("{} changes what the module computes\n{}", pass, text),
                   "this is a bug of the pass; --reproducer keeps the module in front of it");
}

}  // namespace hlokit
