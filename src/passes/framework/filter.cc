// May a step of a pipeline run?
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/pass.h"

namespace hlokit {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsKnownName(std::string_view name) {
  return FindPass(name) != nullptr || FindPipeline(name) != nullptr || name == "hlo-verifier" ||
         name == Pipeline().name || NeuronPassNumber(name) != 0;
}

}  // namespace

bool IsEnabled(const PassFilter& filter, const Pipeline& pipeline, const PipelineStep& step) {
  const std::string& pass = step.pass->name;
  if (filter.disable_all || Contains(filter.disable, pipeline.name) ||
      Contains(filter.disable, pass)) {
    return false;
  }
  bool inner = !step.pipeline.empty();
  if (inner && Contains(filter.disable, step.pipeline)) return false;
  if (filter.only.empty()) return true;
  bool outer_named = Contains(filter.only, pipeline.name);
  if (!inner) return outer_named || Contains(filter.only, pass);
  // The outer pipeline decides whether the inner one runs at all, the inner one about its steps.
  bool inner_named = Contains(filter.only, step.pipeline);
  return (outer_named || inner_named) && (inner_named || Contains(filter.only, pass));
}

std::vector<Diagnostic> CheckFilterNames(const PassFilter& filter) {
  std::vector<Diagnostic> out;
  for (const std::vector<std::string>* list : {&filter.disable, &filter.only}) {
    for (const std::string& name : *list) {
      if (IsKnownName(name)) continue;
      std::string near = NearestPassName(name);
      out.push_back({.id = DiagId::kUnknownFilterName,
                     .severity = Severity::kWarning,
                     .message = fmt::format(
                         "no pass or pipeline is called \"{}\": the filter has no effect", name),
                     .help = near.empty() ? std::string("--list-passes shows all names")
                                          : fmt::format("did you mean {}?", near)});
    }
  }
  return out;
}

}  // namespace hlokit
