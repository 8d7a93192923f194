// How long did each pass take, and what did it do to the size of the module?
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/pass_observers.h"

namespace hlokit {

// ---- time ----

Status TimingObserver::Before(const Module&, const PipelineStep&) {
  start_ = std::chrono::steady_clock::now();
  return {};
}

Status TimingObserver::After(const Module&, const PipelineStep& step, const PipelineStep*,
                             bool changed) {
  Row& row = rows_[step.pass->name];
  row.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  ++row.runs;
  row.changes += changed;
  return {};
}

std::string TimingObserver::Report() const {
  std::vector<std::pair<std::string, Row>> sorted(rows_.begin(), rows_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  double total = 0;
  for (const auto& [name, row] : sorted) total += row.seconds;
  std::string out =
      fmt::format("{:>12}  {:>6}  {:>5}  {:>8}  pass\n", "seconds", "share", "runs", "changed");
  for (const auto& [name, row] : sorted) {
    out += fmt::format("{:12.6f}  {:5.1f}%  {:5}  {:8}  {}\n", row.seconds,
                       total > 0 ? 100 * row.seconds / total : 0.0, row.runs, row.changes, name);
  }
  return out + fmt::format("{:12.6f}  100.0%                   total\n", total);
}

// ---- sizes ----

StatsObserver::Counts StatsObserver::Count(const Module& module) {
  Counts counts;
  for (CompId computation : module.computation_order()) {
    ++counts.computations;
    for (InstId inst : module.computation(computation).instructions) {
      ++counts.instructions;
      ++counts.opcodes[OpcodeText(module.opcode(inst))];
    }
  }
  return counts;
}

Status StatsObserver::Before(const Module& module, const PipelineStep&) {
  before_ = Count(module);
  return {};
}

Status StatsObserver::After(const Module& module, const PipelineStep& step, const PipelineStep*,
                            bool changed) {
  Counts after = Count(module);
  report_ += fmt::format("{}: {}; instructions {} -> {}, computations {} -> {}\n", step.pass->name,
                         changed ? "changed" : "unchanged", before_.instructions,
                         after.instructions, before_.computations, after.computations);
  std::map<std::string_view, int64_t> difference = after.opcodes;
  for (auto [opcode, count] : before_.opcodes) difference[opcode] -= count;
  for (auto [opcode, count] : difference) {
    if (count != 0) report_ += fmt::format("  {:+} {}\n", count, opcode);
  }
  return {};
}

}  // namespace hlokit
