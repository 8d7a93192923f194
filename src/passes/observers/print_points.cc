// When is the module shown while a pipeline runs?
#include <algorithm>
#include <cstdio>

#include "fmt/format.h"
#include "hlokit/pass_observers.h"

namespace hlokit {
namespace {

bool Wanted(const std::vector<std::string>& names, std::string_view pass) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == pass || name == "all"; });
}

void Show(const Module& module, std::string_view when, std::string_view pass,
          const PrintOptions& print) {
  std::string text =
      fmt::format("// *** module {} {} ***\n{}", when, pass, PrintModule(module, print));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Status PrintObserver::Before(const Module& module, const PipelineStep& step) {
  if (Wanted(options_.before, step.pass->name)) {
    Show(module, "before", step.pass->name, options_.print);
  }
  return {};
}

Status PrintObserver::After(const Module& module, const PipelineStep& step, const PipelineStep*,
                            bool changed) {
  if (Wanted(options_.after, step.pass->name) || (options_.after_change && changed)) {
    Show(module, "after", step.pass->name, options_.print);
  }
  return {};
}

}  // namespace hlokit
