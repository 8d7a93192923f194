// What do the tests of the backends share? A run with the rules of a device, and a table of what
// operands and results must have been asked for.
#ifndef HLOKIT_TESTS_UNIT_BACKEND_BACKEND_TEST_UTIL_H_
#define HLOKIT_TESTS_UNIT_BACKEND_BACKEND_TEST_UTIL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/backend.h"
#include "tests/unit/layout/layout_test_util.h"

namespace hlokit::backend_test {

using layout_test::Find;
using layout_test::Layouts;

struct DeviceRun {
  Module module;
  LayoutTrace trace;
  LayoutAssignmentReport report;
  std::unique_ptr<LayoutRules> rules;
};

inline Device DeviceNamed(std::string_view name, const std::vector<std::string>& flags = {}) {
  Result<Device> device = FindDevice(name);
  if (!device) {
    ADD_FAILURE() << FormatError(device.error());
    return {};
  }
  for (const std::string& flag : flags) {
    Status status = SetBackendFlag(*device, flag);
    EXPECT_TRUE(status) << flag;
  }
  return *std::move(device);
}

/// Every leaf of the entry but scalars is free.
inline ComputationLayout FreeEntry(Module& module) {
  ComputationLayout entry = *module.config().entry_computation_layout;
  for (ShapeId& shape : entry.parameters) shape = module.shapes().ClearLayouts(shape);
  entry.result = module.shapes().ClearLayouts(entry.result);
  return entry;
}

inline Result<LayoutAssignmentReport> TryRun(const Device& device, Module& module,
                                             LayoutTrace* trace, bool free_entry = false) {
  std::unique_ptr<LayoutRules> rules = MakeLayoutRules(device);
  LayoutAssignmentOptions options{.rules = rules.get(), .trace = trace};
  if (free_entry) options.entry_layout = FreeEntry(module);
  return AssignLayouts(module, options);
}

inline DeviceRun RunOn(const Device& device, std::string_view text, bool free_entry = false) {
  DeviceRun run;
  run.module = layout_test::Read(text);
  Result<LayoutAssignmentReport> report = TryRun(device, run.module, &run.trace, free_entry);
  if (report) {
    run.report = std::move(*report);
  } else {
    ADD_FAILURE() << FormatError(report.error());
  }
  return run;
}

/// The rule of the first request of the backend in the last round, "" when it did not ask.
/// `operand` -1 means the result.
inline std::string RuleAt(const DeviceRun& run, std::string_view instruction, int operand,
                          std::string* layout = nullptr) {
  std::string rule;
  int round = -1;
  InstId id = Find(run.module, instruction);
  for (EventId event = 0; event < run.trace.size(); ++event) {
    const TraceEvent& e = run.trace[event];
    bool here = operand < 0 ? e.kind == TraceEventKind::kSetBuffer
                            : e.kind == TraceEventKind::kSetOperand &&
                                  e.target_index == static_cast<uint32_t>(operand);
    if (!here || e.instruction() != id || e.backend_rule == 0) continue;
    if (e.round == round) continue;
    round = e.round;
    rule = run.trace.rule_book()->Describe(run.module, e.backend_rule, e.at).id;
    if (layout != nullptr)
      *layout = run.module.shapes().LayoutText(run.trace.LayoutAt(run.module, {event, 0}));
  }
  return rule;
}

/// "gpu.dot.matrix {1,0}", or "" when the backend did not ask.
inline std::string AskedAt(const DeviceRun& run, std::string_view instruction, int operand) {
  std::string layout;
  std::string rule = RuleAt(run, instruction, operand, &layout);
  return rule.empty() ? "" : rule + " " + layout;
}

}  // namespace hlokit::backend_test

#endif  // HLOKIT_TESTS_UNIT_BACKEND_BACKEND_TEST_UTIL_H_
