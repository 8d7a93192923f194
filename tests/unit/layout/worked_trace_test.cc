// Does the pass do what section 15 of the specification shows, pop by pop?
#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using layout_test::Assign;
using layout_test::Outcome;

constexpr char kModule[] =
    R"(HloModule trace, entry_computation_layout={(f32[3,4]{1,0})->f32[4,3]{1,0}}

ENTRY main {
  p = f32[3,4] parameter(0)
  t = f32[4,3] transpose(p), dimensions={1,0}
  s = f32[4,3] add(t, t)
  ROOT n = f32[4,3] negate(s)
}
)";

class Writer {
 public:
  explicit Writer(const Outcome& outcome) : outcome_(outcome) {}

  std::string Entry(TraceTarget kind, uint32_t target, uint32_t index) const {
    const Module& m = outcome_.module;
    switch (kind) {
      case TraceTarget::kComputation:
        return "R(" + std::string(m.name(CompId(target))) + ")";
      case TraceTarget::kOperand:
        return "O(" + std::string(m.name(InstId(target))) + "." + std::to_string(index) + ")";
      case TraceTarget::kBuffer:
        return "B(" + std::string(m.name(InstId(target))) + ")";
    }
    return "";
  }
  std::string Worklist(const WorklistReplay& replay) const {
    std::string out;
    for (const WorklistEntry& entry : replay.Worklist()) {
      if (!out.empty()) out += " ";
      out += Entry(entry.target_kind, entry.target, entry.target_index);
      if (entry.strengthened) out += "*";
    }
    return out;
  }
  std::string Strength(bool mandatory, bool dfs, int priority) const {
    return std::string(mandatory ? "T" : "F") + (dfs ? "/T" : "/F") +
           " p=" + std::to_string(priority);
  }
  std::string Request(const TraceEvent& e) const {
    const ShapePool& shapes = outcome_.module.shapes();
    return Entry(e.target_kind, e.target, e.target_index) + " " + shapes.LayoutText(e.layout()) +
           " " + Strength(e.mandatory, e.dfs, e.priority) + " " + std::string(Info(e.rule).name) +
           ": " + std::string(Info(e.outcome).name);
  }

 private:
  const Outcome& outcome_;
};

struct Step {
  std::string popped;    // with flags and priority
  std::string worklist;  // afterwards
  std::vector<std::string> requests;
};

/// The steps of one round; step 0 is the initial drain.
std::vector<Step> Steps(const Outcome& outcome, int round) {
  Writer writer(outcome);
  WorklistReplay replay(outcome.trace);
  std::vector<Step> steps;
  bool in_round = false;
  while (replay.Step()) {
    TraceEvent event = outcome.trace[replay.current()];
    if (event.kind == TraceEventKind::kComputation) {
      in_round = event.round == round;
      if (in_round) steps.emplace_back();
    }
    if (!in_round) continue;
    if (event.kind == TraceEventKind::kPop) {
      steps.emplace_back();
      const ShapePool& shapes = outcome.module.shapes();
      steps.back().popped = writer.Entry(event.target_kind, event.target, event.target_index);
      if (event.target_kind != TraceTarget::kComputation) {
        steps.back().popped += " " + shapes.LayoutText(event.layout()) + " " +
                               writer.Strength(event.mandatory, event.dfs, event.priority);
      }
    }
    if (event.IsRequest()) steps.back().requests.push_back(writer.Request(event));
    if (event.kind != TraceEventKind::kRound) steps.back().worklist = writer.Worklist(replay);
  }
  return steps;
}

// The table of section 15. `#` stands for the priority: 0 in round 0, 1 in round 1.
const std::vector<Step>& Table() {
  static const std::vector<Step> table = {
      {"", "R(main) B(p)", {"B(p) {1,0} T/T p=# parameter: new"}},
      {"R(main)", "B(n) B(p)", {"B(n) {1,0} F/T p=# result: new"}},
      {"B(n) {1,0} F/T p=#", "O(n.0) B(p)", {"O(n.0) {1,0} T/T p=# same-layout-operand: new"}},
      {"O(n.0) {1,0} T/T p=#",
       "B(n)* B(s) B(p)",
       {"B(s) {1,0} F/T p=# definition: new",
        "B(n) {1,0} T/T p=# same-layout-output: strengthened"}},
      {"B(n) {1,0} T/T p=#", "B(s) B(p)", {"O(n.0) {1,0} T/T p=# same-layout-operand: same order"}},
      {"B(s) {1,0} F/T p=#",
       "O(s.1) O(s.0) B(p)",
       {"O(s.0) {1,0} T/T p=# same-layout-operand: new",
        "O(s.1) {1,0} T/T p=# same-layout-operand: new", "O(n.0) {1,0} F/T p=# use: same order"}},
      {"O(s.1) {1,0} T/T p=#",
       "B(s)* B(t) O(s.0) B(p)",
       {"B(t) {1,0} F/T p=# definition: new",
        "B(s) {1,0} T/T p=# same-layout-output: strengthened"}},
      {"B(s) {1,0} T/T p=#",
       "B(t) O(s.0) B(p)",
       {"O(s.0) {1,0} T/T p=# same-layout-operand: same order",
        "O(s.1) {1,0} T/T p=# same-layout-operand: same order",
        "O(n.0) {1,0} F/T p=# use: same order"}},
      {"B(t) {1,0} F/T p=#",
       "O(t.0) O(s.0) B(p)",
       {"O(t.0) {0,1} F/T p=# transpose-operand: new", "O(s.0) {1,0} F/T p=# use: same order",
        "O(s.1) {1,0} F/T p=# use: same order"}},
      {"O(t.0) {0,1} F/T p=#",
       "B(t)* O(s.0) B(p)",
       {"B(p) {0,1} F/T p=# definition: equal or lower priority",
        "B(t) {1,0} T/T p=# transpose-output: strengthened"}},
      {"B(t) {1,0} T/T p=#",
       "O(s.0) B(p)",
       {"O(t.0) {0,1} F/T p=# transpose-operand: same order",
        "O(s.0) {1,0} F/T p=# use: same order", "O(s.1) {1,0} F/T p=# use: same order"}},
      {"O(s.0) {1,0} T/T p=#",
       "B(p)",
       {"B(t) {1,0} F/T p=# definition: same order",
        "B(s) {1,0} T/T p=# same-layout-output: same order"}},
      {"B(p) {1,0} T/T p=#", "", {"O(t.0) {1,0} F/T p=# use: operand not negotiable"}},
  };
  return table;
}

std::string WithPriority(std::string text, int priority) {
  for (size_t at; (at = text.find('#')) != std::string::npos;) {
    text.replace(at, 1, std::to_string(priority));
  }
  return text;
}

TEST(WorkedTrace, BothRoundsPopByPop) {
  Outcome outcome = Assign(kModule);
  for (int round = 0; round < 2; ++round) {
    std::vector<Step> steps = Steps(outcome, round);
    ASSERT_EQ(steps.size(), Table().size()) << "round " << round;
    for (size_t i = 0; i < steps.size(); ++i) {
      SCOPED_TRACE("round " + std::to_string(round) + " pop " + std::to_string(i));
      EXPECT_EQ(steps[i].popped, WithPriority(Table()[i].popped, round));
      EXPECT_EQ(steps[i].worklist, Table()[i].worklist);
      ASSERT_EQ(steps[i].requests.size(), Table()[i].requests.size());
      for (size_t r = 0; r < steps[i].requests.size(); ++r) {
        EXPECT_EQ(steps[i].requests[r], WithPriority(Table()[i].requests[r], round));
      }
    }
  }
  EXPECT_EQ(outcome.report.rounds, 2u);
  EXPECT_EQ(outcome.report.pops, 24u);
}

TEST(WorkedTrace, AssignmentAndReport) {
  Outcome outcome = Assign(kModule);
  const Module& m = outcome.module;
  EXPECT_EQ(layout_test::Layouts(m, "p"), "{1,0}");
  EXPECT_EQ(layout_test::Layouts(m, "copy"), "{0,1}");
  EXPECT_EQ(layout_test::Layouts(m, "t"), "{1,0}");
  EXPECT_EQ(layout_test::Operands(m, "t"), "copy");
  EXPECT_EQ(layout_test::Operands(m, "s"), "t, t");
  ASSERT_EQ(outcome.report.copies.size(), 1u);
  const AddedCopy& copy = outcome.report.copies[0];
  EXPECT_EQ(copy.reason, CopyReason::kOperand);
  EXPECT_EQ(m.name(copy.top), "copy");
  EXPECT_EQ(m.name(copy.source), "p");
  EXPECT_EQ(m.name(copy.consumer), "t");
  EXPECT_EQ(copy.operand, 0u);
  ASSERT_EQ(outcome.report.PartsOf(copy).size(), 1u);
  const AddedArrayCopy& part = outcome.report.PartsOf(copy)[0];
  EXPECT_EQ(m.shapes().LayoutText(part.from), "{1,0}");
  EXPECT_EQ(m.shapes().LayoutText(part.to), "{0,1}");

  // Who lost: the pin of the parameter. Who won: the result, through negate, add and transpose.
  auto rules = [&](CauseHop hop) {
    std::string out;
    for (const CauseHop& h : outcome.trace.CauseChain(hop)) {
      if (!out.empty()) out += " < ";
      out += Info(outcome.trace[h.event].rule).name;
    }
    return out;
  };
  EXPECT_EQ(rules(part.losing), "parameter < entry-pin");
  EXPECT_EQ(rules(part.winning),
            "transpose-operand < definition < same-layout-operand < definition < "
            "same-layout-operand < result < entry-pin");
}

TEST(WorkedTrace, WithoutATraceTheResultIsTheSame) {
  Module m = layout_test::Read(kModule);
  Result<LayoutAssignmentReport> report = AssignLayouts(m, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->pops, 24u);
  EXPECT_EQ(layout_test::Layouts(m, "copy"), "{0,1}");
  EXPECT_EQ(report->parts[0].losing.event, kNoEvent);
}

}  // namespace
}  // namespace hlokit
