// When does a request take effect? The tables of sections 2.3 and 2.4, driven through the hook that
// a backend has, one request at a time.
#include <functional>

#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using layout_test::Find;
using layout_test::Read;

/// Rules that run a script once, in the first round of the entry computation.
class Scripted : public LayoutRules {
 public:
  using Script = std::function<Status(LayoutServices&)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}
  Status AddBackendConstraints(LayoutServices& services, CompId computation) const override {
    if (services.current_priority() != 0 || computation != services.module().entry()) return {};
    return script_(services);
  }

 private:
  Script script_;
};

constexpr char kModule[] = R"(HloModule m
less { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[2,3] parameter(0)
  v = f32[5] parameter(1)
  z = s32[] constant(0)
  n = f32[2,3] negate(x)
  w = f32[5] negate(v)
  u = f32[2,3] dynamic-update-slice(n, x, z, z)
  d = f32[2,3] dynamic-slice(x, z, z), dynamic_slice_sizes={2,3}
  r = f32[3,2] reshape(d)
  s = (f32[2,3], f32[2,3]) sort(x, n), dimensions={1}, to_apply=less
  ROOT t = (f32[2,3], f32[2,3], f32[3,2], (f32[2,3], f32[2,3]), f32[5]) tuple(n, u, r, s, w)
})";

class ConstraintUpdate : public testing::Test {
 protected:
  ConstraintUpdate() : module_(Read(kModule)) {
    row_ = module_.shapes().Layout(std::vector<int64_t>{1, 0});
    column_ = module_.shapes().Layout(std::vector<int64_t>{0, 1});
    line_ = module_.shapes().Layout(std::vector<int64_t>{0});
  }
  InstId at(std::string_view name) { return Find(module_, name); }

  /// Runs the script; returns "outcome mandatory/dfs priority" of each request that it made.
  std::vector<std::string> Run(const Scripted::Script& script) {
    Scripted rules(script);
    LayoutAssignmentOptions options;
    options.rules = &rules;
    options.trace = &trace_;
    // Nothing is pinned: what the script does not set stays free.
    options.entry_layout = *module_.config().entry_computation_layout;
    for (ShapeId& p : options.entry_layout->parameters) p = module_.shapes().ClearLayouts(p);
    options.entry_layout->result = module_.shapes().ClearLayouts(options.entry_layout->result);
    Result<LayoutAssignmentReport> report = AssignLayouts(module_, options);
    if (!report) ADD_FAILURE() << FormatError(report.error());
    std::vector<std::string> out;
    for (EventId id = 0; id < trace_.size(); ++id) {
      TraceEvent e = trace_[id];
      if (!e.IsRequest() || e.rule != TraceRule::kBackend) continue;
      out.push_back(std::string(Info(e.outcome).name) + (e.mandatory ? " T" : " F") +
                    (e.dfs ? "/T " : "/F ") + std::to_string(e.priority) +
                    (e.announced ? " announced" : ""));
    }
    return out;
  }

  Module module_;
  LayoutTrace trace_;
  LayoutId row_, column_, line_;
};

using Strings = std::vector<std::string>;
constexpr LayoutStrength Soft(int priority) { return {false, true, priority}; }
constexpr LayoutStrength Hard(int priority) { return {true, true, priority}; }

TEST_F(ConstraintUpdate, Buffers) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    InstId n = at("n");
    TRY(s.SetBufferLayout(row_, n, 0, Soft(0)));
    TRY(s.SetBufferLayout(row_, n, 0, Soft(0)));
    TRY(s.SetBufferLayout(row_, n, 0, Hard(0)));     // stronger flags of the same order are kept
    TRY(s.SetBufferLayout(column_, n, 0, Soft(0)));  // equal priority: first come, first served
    EXPECT_EQ(s.BufferLayout(n), row_);
    TRY(s.SetBufferLayout(column_, n, 0, Soft(1)));  // mandatory is no shield
    EXPECT_EQ(s.BufferLayout(n), column_);
    TRY(s.SetBufferLayout(row_, n, 0, Hard(-1)));    // mandatory wins over a higher priority
    TRY(s.SetBufferLayout(column_, n, 0, Soft(5)));  // rewritten twice: no soft request any more
    TRY(s.SetBufferLayout(column_, n, 0, Hard(0)));  // but a mandatory one
    EXPECT_EQ(s.BufferLayout(n), column_);
    return {};
  });
  EXPECT_EQ(outcomes,
            (Strings{"new F/T 0 announced", "same order F/T 0", "strengthened T/T 0 announced",
                     "equal or lower priority F/T 0", "rewritten F/T 1 announced",
                     "rewritten T/T -1 announced", "cap F/T 5", "rewritten T/T 0 announced"}));
}

TEST_F(ConstraintUpdate, HigherPriorityOfTheSameOrderAnnouncesAgain) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    TRY(s.SetBufferLayout(row_, at("n"), 0, Soft(0)));
    TRY(s.SetBufferLayout(row_, at("n"), 0, Soft(2)));
    TRY(s.SetBufferLayout(row_, at("n"), 0, Soft(1)));
    return {};
  });
  EXPECT_EQ(outcomes,
            (Strings{"new F/T 0 announced", "strengthened F/T 2 announced", "same order F/T 1"}));
}

TEST_F(ConstraintUpdate, RankOneIsAnnouncedOnlyOnce) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    TRY(s.SetBufferLayout(line_, at("w"), 0, Soft(0)));
    TRY(s.SetBufferLayout(line_, at("w"), 0, Hard(0)));
    return {};
  });
  EXPECT_EQ(outcomes, (Strings{"new F/T 0 announced", "strengthened T/T 0"}));
}

TEST_F(ConstraintUpdate, BuffersOfTupleShapedInstructionsRefuseSoftRewrites) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    TRY(s.SetBufferLayout(row_, at("s"), 1, Soft(0)));
    TRY(s.SetBufferLayout(column_, at("s"), 1, Soft(7)));
    TRY(s.SetBufferLayout(column_, at("s"), 1, Hard(0)));
    return {};
  });
  EXPECT_EQ(outcomes,
            (Strings{"new F/T 0 announced", "tuple-shaped F/T 7", "rewritten T/T 0 announced"}));
}

TEST_F(ConstraintUpdate, Operands) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    InstId n = at("n");
    TRY(s.SetArrayOperandLayout(row_, n, 0, Soft(0)));
    TRY(s.SetArrayOperandLayout(row_, n, 0, Hard(3)));     // the same order: flags are not upgraded
    TRY(s.SetArrayOperandLayout(column_, n, 0, Soft(9)));  // soft never rewrites
    TRY(s.SetArrayOperandLayout(column_, n, 0, Hard(-1)));  // an existing higher priority stays
    TRY(s.SetArrayOperandLayout(column_, n, 0, Hard(0)));
    EXPECT_EQ(module_.shapes().layout(s.OperandShape(n, 0)), column_);
    return {};
  });
  EXPECT_EQ(outcomes,
            (Strings{"new F/T 0 announced", "same order T/T 3", "operand not negotiable F/T 9",
                     "higher existing priority T/T -1", "rewritten T/T 0 announced"}));
}

TEST_F(ConstraintUpdate, Demotion) {
  Strings outcomes = Run([&](LayoutServices& s) -> Status {
    TRY(s.SetArrayOperandLayout(row_, at("u"), 0, Soft(0)));     // the array that is updated: no
    TRY(s.SetArrayOperandLayout(row_, at("u"), 1, Soft(0)));     // the update: yes
    TRY(s.SetArrayOperandLayout(row_, at("r"), 0, Soft(0)));     // reshape of a dynamic-slice: yes
    TRY(s.SetArrayOperandLayout(column_, at("r"), 0, Hard(0)));  // mandatory requests: no
    return {};
  });
  EXPECT_EQ(outcomes, (Strings{"new F/T 0 announced", "new F/F -1 announced",
                               "new F/F -1 announced", "rewritten T/T 0 announced"}));
}

TEST_F(ConstraintUpdate, ScalarsAreIgnored) {
  EXPECT_EQ(Run([&](LayoutServices& s) {
              return s.SetArrayOperandLayout(module_.shapes().DescendingLayout(0), at("u"), 2);
            }),
            Strings{});
}

TEST_F(ConstraintUpdate, InstructionLayoutTakesTheOperandsAlong) {
  Run([&](LayoutServices& s) -> Status {
    TRY(s.SetInstructionLayout(module_.shapes().WithLayout(module_.shape(at("n")), column_),
                               at("n")));
    EXPECT_EQ(s.BufferLayout(at("n")), column_);
    EXPECT_EQ(module_.shapes().layout(s.OperandShape(at("n"), 0)), column_);
    TRY(s.SetInstructionLayout(row_, at("s")));
    EXPECT_EQ(s.BufferLayout(at("s"), 1), row_);
    EXPECT_EQ(s.BufferLayout(at("s"), 2), row_);
    EXPECT_FALSE(s.OperandShape(at("s"), 0).valid());
    return {};
  });
}

TEST_F(ConstraintUpdate, Refusals) {
  Run([&](LayoutServices& s) -> Status {
    auto code = [](const Status& status) {
      return status ? std::string("ok") : std::string(DiagCode(status.error().diagnostics[0].id));
    };
    // The first error is the one that the run ends with; here only the codes are looked at.
    EXPECT_TRUE(s.DefinesBuffer(at("n"), 0));
    EXPECT_TRUE(s.IsForwarded(at("t"), 0));
    EXPECT_FALSE(s.IsForwarded(at("n"), 0));
    EXPECT_EQ(code(Status{}), "ok");
    return {};
  });
  Scripted rules([&](LayoutServices& s) -> Status {
    return s.SetBufferLayout(line_, at("n"), 0);  // a layout of rank 1 for an array of rank 2
  });
  Module module = Read(kModule);
  LayoutAssignmentOptions options;
  options.rules = &rules;
  Result<LayoutAssignmentReport> report = AssignLayouts(module, options);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(DiagCode(report.error().diagnostics[0].id), "L004");
}

}  // namespace
}  // namespace hlokit
