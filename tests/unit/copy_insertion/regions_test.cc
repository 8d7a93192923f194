// Region analysis: which copies go beside those that whole lists of values allow, and which stay.
#include "fmt/format.h"
#include "tests/proof/buffer_run.h"
#include "tests/unit/passes/pass_test_util.h"

namespace hlokit {
namespace {

Module After(std::string_view text, std::string_view options) {
  Module module = MustRead(text);
  EXPECT_EQ(RunPasses(module, fmt::format("flatten-call-graph,copy-insertion{}", options)).error,
            "");
  EXPECT_TRUE(VerifyForPasses(module));
  for (uint64_t seed = 0; seed < 64; ++seed) {
    Result<BufferRun> run = RunInBuffers(module, seed);
    EXPECT_TRUE(run);
    EXPECT_EQ(run->problem, "") << PrintModule(module);
  }
  return module;
}

constexpr std::string_view kAlways = "{region-analysis-limit=-1}";

int CopiesIn(const Module& module, std::string_view computation) {
  int copies = 0;
  for (InstId inst : module.computation(module.FindComputation(computation)).instructions) {
    copies += module.opcode(inst) == Opcode::kCopy;
  }
  return copies;
}

/// A loop over `n` arrays, whose body is given; nothing in it counts, the condition is a constant.
std::string Loop(int n, std::string_view body) {
  std::string state = "(", elements, init;
  for (int i = 0; i < n; ++i) {
    state += i > 0 ? ", f32[4]{0}" : "f32[4]{0}";
    elements += fmt::format("  x{0} = f32[4]{{0}} get-tuple-element(p), index={0}\n", i);
    init += i > 0 ? fmt::format(", b{}", i) : "b0";
  }
  state += ")";
  std::string text =
      fmt::format("HloModule m\nbody {{\n  p = {} parameter(0)\n{}{}}}\n", state, elements, body);
  text += fmt::format("cond {{\n  q = {} parameter(0)\n  ROOT no = pred[] constant(false)\n}}\n",
                      state);
  text += "ENTRY main {\n  a = f32[4]{0} parameter(0)\n";
  const char* kOpcodes[] = {"negate", "abs", "tanh"};
  for (int i = 0; i < n; ++i) {
    text += fmt::format("  b{} = f32[4]{{0}} {}(a)\n", i, kOpcodes[i]);
  }
  text += fmt::format("  init = {0} tuple({1})\n", state, init);
  text += fmt::format("  ROOT w = {0} while(init), condition=cond, body=body\n}}\n", state);
  return text;
}

const std::string& Swap() {
  static const std::string text = Loop(2, "  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(x1, x0)\n");
  return text;
}

/// Two arrays change places with a third as help: three moves.
TEST(Regions, SwapTakesThreeCopies) {
  EXPECT_EQ(CopiesIn(After(Swap(), ""), "body"), 4);
  Module module = After(Swap(), kAlways);
  EXPECT_EQ(CopiesIn(module, "body"), 3);
  // The order that makes three enough is written down.
  int edges = 0;
  for (InstId inst : module.computation(module.FindComputation("body")).instructions) {
    edges += static_cast<int>(module.control_predecessors(inst).size());
  }
  EXPECT_GE(edges, 1) << PrintModule(module);
}

/// n arrays in a circle take n + 1 moves.
TEST(Regions, RotationOfThreeTakesFourCopies) {
  std::string text = Loop(3, "  ROOT t = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(x1, x2, x0)\n");
  EXPECT_EQ(CopiesIn(After(text, ""), "body"), 6);
  EXPECT_EQ(CopiesIn(After(text, kAlways), "body"), 4);
}

/// Nothing orders the reader of %x behind the value that takes its place: an edge does.
constexpr std::string_view kReaderBeside = R"(
  u = f32[1]{0} slice(x0), slice={[0:1]}
  one = f32[] constant(1)
  v = f32[4]{0} broadcast(one), dimensions={}
  s = f32[4]{0} sine(v)
  y = f32[4]{0} pad(u, one), padding=0_3
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(s, y)
)";

TEST(Regions, EdgeLetsTheReaderGoFirst) {
  std::string text = Loop(2, kReaderBeside);
  int without = CopiesIn(After(text, ""), "body");
  Module module = After(text, kAlways);
  EXPECT_LT(CopiesIn(module, "body"), without);
  // %u reads the state; what is stored into its place waits for it.
  InstId state = module.operand(module.computation(module.FindComputation("body")).root, 0);
  std::span<const InstId> before = module.control_predecessors(state);
  EXPECT_EQ(std::count(before.begin(), before.end(), module.FindInstruction("u")), 1)
      << PrintModule(module);
}

/// %n takes the place of %x0, which is read behind it: in no order can both lie in one buffer. %s
/// can take the place of %x1.
TEST(Regions, CopyStaysWhereTheOldValueIsReadBehindTheNewOne) {
  std::string text = Loop(2, R"(
  n = f32[4]{0} negate(x1)
  r = f32[4]{0} reverse(n), dimensions={0}
  s = f32[4]{0} add(r, x0)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, s)
)");
  EXPECT_EQ(CopiesIn(After(text, kAlways), "body"), 1);
}

/// An instruction that updates the copied value in place is never put behind others by an edge.
TEST(Regions, UpdateInPlaceIsNotOrdered) {
  constexpr std::string_view kText = R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  zero = s32[] constant(0)
  n = f32[4]{0} negate(a)
  d = f32[4]{0} dynamic-update-slice(n, u, zero)
  r = f32[4]{0} reverse(n), dimensions={0}
  ROOT s = f32[4]{0} add(d, r)
})";
  EXPECT_EQ(CopiesIn(After(kText, ""), "main"), 1);
  EXPECT_EQ(CopiesIn(After(kText, kAlways), "main"), 1);
}

/// The order between the branches of a body goes through a copy that the user wrote: it outlives
/// the copy.
TEST(Regions, OrderOutlivesTheCopyThatCarriedIt) {
  constexpr std::string_view kText = R"(HloModule m
body {
  x = f32[4]{0} parameter(0)
  c = bf16[4]{0} convert(x)
  ROOT r = f32[4]{0} convert(c)
}
cond {
  q = f32[4]{0} parameter(0)
  ROOT no = pred[] constant(false)
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} abs(a)
  n = f32[4]{0} negate(b)
  c = f32[4]{0} copy(b), control-predecessors={n}
  w = f32[4]{0} while(c), condition=cond, body=body
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, w)
})";
  Module module = After(kText, kAlways);
  EXPECT_EQ(CopiesIn(module, "main"), 0);
  std::span<const InstId> before = module.control_predecessors(module.FindInstruction("w"));
  EXPECT_EQ(std::count(before.begin(), before.end(), module.FindInstruction("n")), 1);
}

/// Nobody reads the loop: only a copy with a control edge, which goes, kept it. An edge between %n
/// and the loop, which would save the copy of its start, would keep the loop for good.
TEST(Regions, NoEdgeKeepsALoopThatNobodyReads) {
  constexpr std::string_view kText = R"(HloModule m
body {
  x = f32[4]{0} parameter(0)
  c = bf16[4]{0} convert(x)
  ROOT r = f32[4]{0} convert(c)
}
cond {
  q = f32[4]{0} parameter(0)
  ROOT no = pred[] constant(false)
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} abs(a)
  n = f32[4]{0} reverse(b), dimensions={0}
  m = f32[4]{0} negate(a)
  w = f32[4]{0} while(b), condition=cond, body=body
  c = f32[4]{0} copy(w), control-predecessors={m}
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, m)
})";
  for (std::string_view options : {std::string_view(""), kAlways}) {
    Module module = After(kText, options);
    EXPECT_EQ(CopiesIn(module, "main"), 0);
    for (InstId inst : module.computation(module.entry()).instructions) {
      EXPECT_NE(module.opcode(inst), Opcode::kWhile) << PrintModule(module);
    }
  }
}

/// The copies of a swap stand for two definitions and two reads at least on each side.
TEST(Regions, LimitIsABudget) {
  EXPECT_EQ(CopiesIn(After(Swap(), "{region-analysis-limit=0}"), "body"), 4);
  EXPECT_EQ(CopiesIn(After(Swap(), "{region-analysis-limit=3}"), "body"), 4);
  EXPECT_EQ(CopiesIn(After(Swap(), "{region-analysis-limit=100000}"), "body"), 3);
}

TEST(Regions, CopyOfBroadcastStays) {
  // The loop starts with a value that somebody else reads, without an order between the two.
  constexpr std::string_view kText = R"(HloModule m
body {{
  x = f32[4]{{0}} parameter(0)
  c = bf16[4]{{0}} convert(x)
  ROOT r = f32[4]{{0}} convert(c)
}}
cond {{
  q = f32[4]{{0}} parameter(0)
  ROOT no = pred[] constant(false)
}}
ENTRY main {{
  a = f32[] parameter(0)
  e = f32[4]{{0}} parameter(1)
  b = f32[4]{{0}} {}
  n = f32[4]{{0}} reverse(b), dimensions={{0}}
  w = f32[4]{{0}} while(b), condition=cond, body=body
  ROOT t = (f32[4]{{0}}, f32[4]{{0}}) tuple(n, w)
}})";
  std::string broadcast = fmt::format(kText, "broadcast(a), dimensions={}");
  std::string computed = fmt::format(kText, "abs(e)");
  EXPECT_EQ(CopiesIn(After(computed, ""), "main"), 1);
  EXPECT_EQ(CopiesIn(After(computed, kAlways), "main"), 0);
  EXPECT_EQ(CopiesIn(After(broadcast, kAlways), "main"), 1);
}

}  // namespace
}  // namespace hlokit
