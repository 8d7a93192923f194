// How does a pipeline run?
#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "hlokit/pass.h"
#include "hlokit/printer.h"

namespace hlokit {
namespace {

Error WithSuffix(Error error, std::string_view pass) {
  for (Diagnostic& diagnostic : error.diagnostics) {
    if (diagnostic.severity == Severity::kError) {
      diagnostic.message += fmt::format("\n\nFailed after {}", pass);
      break;
    }
  }
  return error;
}

/// The whole text, for comparing; empty when nobody compares.
std::string Fingerprint(const Module& module, const RunOptions& options) {
  if (!options.check_silent_change && !options.check_noop_change) return {};
  PrintOptions print;
  print.large_constants = true;
  return PrintModule(module, print);
}

Status CheckHonesty(const std::string& before, const Module& module, const PipelineStep& step,
                    bool changed, const RunOptions& options) {
  if (before.empty()) return {};
  bool differs = Fingerprint(module, options) != before;
  if (differs && !changed && options.check_silent_change) {
    return MakeError(ExitCode::kVerifyFailed, DiagId::kSilentChange,
                     fmt::format("pass {} says that it changed nothing, but the module differs",
                                 step.pass->name));
  }
  if (!differs && changed && options.check_noop_change) {
    return MakeError(
        ExitCode::kVerifyFailed, DiagId::kSilentChange,
        fmt::format("pass {} says that it changed the module, but the text is the same",
                    step.pass->name));
  }
  return {};
}

/// The pass itself between its declared invariants.
Result<bool> RunStep(Module& module, const PipelineStep& step, const RunOptions& options) {
  const PassInfo& info = *step.pass->info;
  for (Invariant invariant : info.requires_invariants) {
    if (Status status = CheckInvariant(module, invariant); !status) {
      Error error = std::move(status).error();
      error.diagnostics.front().message =
          fmt::format("pass {} cannot run: {}", step.pass->name, error.diagnostics.front().message);
      return std::unexpected(std::move(error));
    }
  }
  std::string before = Fingerprint(module, options);
  PassContext context{step.options, options.warnings};
  if (options.log != nullptr) {
    options.log->groups.push_back({step.pass->name, {}});
    context.log = &options.log->groups.back();
  }
  ASSIGN_OR_RETURN(bool changed, info.make()->Run(module, context));
  if (!info.reports_partially) TRY(CheckHonesty(before, module, step, changed, options));
  if (options.verify_each) {
    for (Invariant invariant : info.ensures_invariants) {
      if (Status status = CheckInvariant(module, invariant); !status) {
        return std::unexpected(WithSuffix(std::move(status).error(), step.pass->name));
      }
    }
  }
  return changed;
}

Status Verify(const Module& module, const RunOptions& options, std::string_view after) {
  const std::vector<std::string>& disabled = options.filter.disable;
  auto off = [&](std::string_view name) {
    return std::find(disabled.begin(), disabled.end(), name) != disabled.end();
  };
  if (!options.verify_each || off("hlo-verifier") || off("verifier")) return {};
  Status status = VerifyForPasses(module);
  if (!status) return std::unexpected(WithSuffix(std::move(status).error(), after));
  return {};
}

}  // namespace

Result<bool> RunPipeline(Module& module, const Pipeline& pipeline, const RunOptions& options) {
  std::vector<const PipelineStep*> steps;
  for (const PipelineStep& step : pipeline.steps) {
    if (IsEnabled(options.filter, pipeline, step)) steps.push_back(&step);
  }
  TRY(Verify(module, options, "pipeline-start"));
  for (PassObserver* observer : options.observers) TRY(observer->Start(module, pipeline, steps));
  bool any = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PipelineStep& step = *steps[i];
    std::optional<Module> before;
    if (options.keep_before) before = module;
    for (PassObserver* observer : options.observers) TRY(observer->Before(module, step));
    Result<bool> changed = RunStep(module, step, options);
    if (changed && (*changed || step.pass->info->reports_partially)) {
      if (Status verified = Verify(module, options, step.pass->name); !verified) {
        changed = std::unexpected(std::move(verified).error());
      }
    }
    if (!changed) {
      for (PassObserver* observer : options.observers) {
        observer->Failed(before ? &*before : nullptr, step, changed.error());
      }
      return changed;
    }
    any |= *changed;
    const PipelineStep* next = i + 1 < steps.size() ? steps[i + 1] : nullptr;
    for (PassObserver* observer : options.observers) {
      TRY(observer->After(module, step, next, *changed));
    }
  }
  for (PassObserver* observer : options.observers) TRY(observer->End(module, any));
  return any;
}

}  // namespace hlokit
