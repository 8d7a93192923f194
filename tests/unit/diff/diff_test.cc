// What counts as a difference, and what is paired with what?
#include "hlokit/diff.h"

#include <string>

#include "gtest/gtest.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

Module Read(const std::string& text) {
  Result<Module> module = ReadText(text);
  if (!module) ADD_FAILURE() << FormatError(module.error()) << text;
  return module ? std::move(*module) : Module();
}

std::string Entry(const std::string& lines, const std::string& name = "m") {
  return "HloModule " + name + "\n\nENTRY e {\n" + lines + "\n}\n";
}

/// The differences as words: "layout a", "appeared c", "added x", "changed x: operand 1", …
std::string Words(const Module& a, const Module& b, const DiffOptions& options = {}) {
  ModuleDiff diff = DiffModules(a, b, options);
  std::string out;
  auto word = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  for (const EntryLayoutChange& change : diff.entry_layouts) {
    word("entry " + (change.parameter ? std::to_string(*change.parameter) : "result") + " " +
         change.before + " " + change.after);
  }
  for (const LayoutChange& change : diff.layouts) {
    word("layout " + std::string(b.name(change.after)) +
         (change.leaf == 0 ? "" : " at " + std::to_string(change.leaf)));
  }
  for (const CopyChange& copy : diff.appeared) word("appeared " + std::string(b.name(copy.copy)));
  for (const CopyChange& copy : diff.vanished) word("vanished " + std::string(a.name(copy.copy)));
  for (InstId id : diff.plumbing_added) word("plumbing " + std::string(b.name(id)));
  for (InstId id : diff.plumbing_removed) word("plumbing gone " + std::string(a.name(id)));
  for (const InstructionChange& change : diff.changed) {
    std::string text = "changed " + std::string(b.name(change.after)) + ":";
    if (change.root) text += " root";
    if (change.opcode) text += " opcode";
    if (change.shape) text += " shape";
    if (change.operand_count) text += " operand count";
    for (uint32_t operand : change.operands) text += " operand " + std::to_string(operand);
    for (AttrKind kind : change.attributes) text += " " + std::string(Info(kind).text);
    word(text);
  }
  for (InstId id : diff.added) word("added " + std::string(b.name(id)));
  for (InstId id : diff.removed) word("removed " + std::string(a.name(id)));
  for (const ComputationChange& change : diff.computations_added) {
    word("computation " + std::string(b.name(change.computation)) +
         (change.variant_of.valid() ? " like " + std::string(a.name(change.variant_of)) : ""));
  }
  for (const ComputationChange& change : diff.computations_removed) {
    word("computation gone " + std::string(a.name(change.computation)));
  }
  for (const std::string& field : diff.header) word("header " + field);
  EXPECT_EQ(out.empty(), diff.IsEmpty());
  return out;
}
std::string Words(const std::string& a, const std::string& b, const DiffOptions& options = {}) {
  return Words(Read(a), Read(b), options);
}

const char kBase[] = R"(  p = f32[2,3] parameter(0)
  q = f32[2,3] parameter(1)
  n = f32[2,3] negate(p)
  m = f32[2,3] multiply(n, q)
  ROOT r = f32[2,3] add(m, n))";

TEST(Diff, TheSameModule) { EXPECT_EQ(Words(Entry(kBase), Entry(kBase)), ""); }

TEST(Diff, NamesAndOrderDoNotCount) {
  EXPECT_EQ(Words(Entry(kBase), Entry(R"(  b = f32[2,3] parameter(1)
  a = f32[2,3] parameter(0)
  x.1 = f32[2,3] negate(a)
  x.2 = f32[2,3] multiply(x.1, b)
  ROOT x.3 = f32[2,3] add(x.2, x.1))",
                                      "other")),
            "");
}

TEST(Diff, ExchangedNamesOfEqualValues) {
  // Both exponentials compute the same; only the place tells them apart.
  EXPECT_EQ(Words(Entry(R"(  p = f32[2] parameter(0)
  a = f32[2] exponential(p)
  b = f32[2] exponential(p)
  ROOT r = f32[2] subtract(a, b))"),
                  Entry(R"(  p = f32[2] parameter(0)
  b = f32[2] exponential(p)
  a = f32[2] exponential(p)
  ROOT r = f32[2] subtract(b, a))")),
            "");
}

TEST(Diff, Layouts) {
  EXPECT_EQ(Words(Entry(R"(  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{1,0} negate(p)
  ROOT t = (f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(p, n))"),
                  Entry(R"(  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  ROOT t = (f32[2,3]{1,0}, f32[2,3]{0,1}) tuple(p, n))")),
            "entry result {1,0} {0,1}; layout n; layout t at 2");
}

TEST(Diff, TilesAndMemorySpacesAreLayouts) {
  EXPECT_EQ(Words(Entry("  ROOT p = f32[8,128]{1,0} parameter(0)"),
                  Entry("  ROOT p = f32[8,128]{1,0:T(8,128)} parameter(0)")),
            "entry 0 {1,0} {1,0:T(8,128)}; entry result {1,0} {1,0:T(8,128)}; layout p");
}

TEST(Diff, ACopyInFrontOfAnOperandIsOneDifference) {
  std::string copied = Entry(R"(  p = f32[2,3] parameter(0)
  q = f32[2,3] parameter(1)
  n = f32[2,3] negate(p)
  copy.7 = f32[2,3]{0,1} copy(n)
  m = f32[2,3] multiply(copy.7, q)
  ROOT r = f32[2,3] add(m, n))");
  EXPECT_EQ(Words(Entry(kBase), copied), "appeared copy.7");
  EXPECT_EQ(Words(copied, Entry(kBase)), "vanished copy.7");
}

TEST(Diff, ACopyBehindAnElementOfAKnownTuple) {
  auto text = [](const std::string& copy, const std::string& operand) {
    return Entry(
        "  p = f32[2,3] parameter(0)\n  t = (f32[2,3], f32[2,3]) tuple(p, p)\n"
        "  g = f32[2,3] get-tuple-element(t), index=0\n" +
        copy + "  ROOT n = f32[2,3] negate(" + operand + ")");
  };
  EXPECT_EQ(Words(text("", "g"), text("  c = f32[2,3]{0,1} copy(g)\n", "c")), "appeared c");
}

TEST(Diff, UnreadCopies) {
  // Layouts change, the copy that nobody reads stays the same one.
  EXPECT_EQ(
      Words(
          Entry("  ROOT p = f32[2,3] parameter(0)\n  c = f32[2,3] copy(p)\n  d = f32[2,3] copy(p)"),
          Entry("  ROOT p = f32[2,3] parameter(0)\n  d = f32[2,3]{0,1} copy(p)")),
      "layout d; vanished c");
}

TEST(Diff, CopiesOfTheSameValueForOtherUsers) {
  std::string head = "  p = f32[2,3] parameter(0)\n  c = f32[2,3]{0,1} copy(p)\n";
  EXPECT_EQ(Words(Entry(head + R"(  n = f32[2,3] negate(c)
  e = f32[2,3] exponential(p)
  ROOT r = f32[2,3] add(n, e))"),
                  Entry(head + R"(  n = f32[2,3] negate(p)
  e = f32[2,3] exponential(c)
  ROOT r = f32[2,3] add(n, e))")),
            "appeared c; vanished c");
}

TEST(Diff, AnOperandThatGoesRoundACopyIsAChange) {
  // The copy is there in both modules, but one of its users reads past it.
  std::string head =
      "  p = f32[2,3] parameter(0)\n  c = f32[2,3]{0,1} copy(p)\n  n = f32[2,3] negate(c)\n";
  EXPECT_EQ(Words(Entry(head + "  ROOT r = f32[2,3] add(n, c)"),
                  Entry(head + "  ROOT r = f32[2,3] add(n, p)")),
            "changed r: operand 1");
}

TEST(Diff, ATupleTakenApartForACopyIsPlumbing) {
  EXPECT_EQ(Words(Entry("  ROOT p = (f32[2,3]{1,0}, s32[]) parameter(0)"),
                  Entry(R"(  p = (f32[2,3]{1,0}, s32[]) parameter(0)
  g0 = f32[2,3]{1,0} get-tuple-element(p), index=0
  c = f32[2,3]{0,1} copy(g0)
  g1 = s32[] get-tuple-element(p), index=1
  ROOT t = (f32[2,3]{0,1}, s32[]) tuple(c, g1))")),
            "entry result {1,0} {0,1}; appeared c; plumbing g0; plumbing g1; plumbing t");
}

/// kBase with one place replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kBase;
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return Entry(text.replace(text.find(from), from.size(), to));
}

TEST(Diff, AnotherOpcode) {
  EXPECT_EQ(Words(Entry(kBase), With("multiply", "divide")), "changed m: opcode");
}

TEST(Diff, AnotherOpcodeAndAnotherName) {
  EXPECT_EQ(Words(Entry(kBase), Entry(R"(  p = f32[2,3] parameter(0)
  q = f32[2,3] parameter(1)
  n = f32[2,3] negate(p)
  z = f32[2,3] divide(n, q)
  ROOT r = f32[2,3] add(z, n))")),
            "changed z: opcode");
}

TEST(Diff, AnotherOperand) {
  EXPECT_EQ(Words(Entry(kBase), With("multiply(n, q)", "multiply(q, q)")), "changed m: operand 0");
  EXPECT_EQ(Words(Entry(kBase), With("add(m, n)", "add(n, m)")), "changed r: operand 0 operand 1");
}

TEST(Diff, AnotherNumberOfOperands) {
  EXPECT_EQ(
      Words(
          Entry("  p = f32[2] parameter(0)\n  ROOT c = f32[4] concatenate(p, p), dimensions={0}"),
          Entry(
              "  p = f32[2] parameter(0)\n  ROOT c = f32[6] concatenate(p, p, p), dimensions={0}")),
      "changed c: shape operand count");
}

TEST(Diff, AnotherRoot) {
  EXPECT_EQ(Words(Entry("  p = f32[2] parameter(0)\n  a = f32[2] negate(p)\n  ROOT b = f32[2] "
                        "exponential(a)"),
                  Entry("  p = f32[2] parameter(0)\n  ROOT a = f32[2] negate(p)\n  b = f32[2] "
                        "exponential(a)")),
            "changed a: root");
}

TEST(Diff, Attributes) {
  auto text = [](const std::string& rest) {
    return Entry(
        "  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n  ROOT d = f32[4,4] dot(p, "
        "q), " +
        rest);
  };
  EXPECT_EQ(
      Words(
          text("lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
          text(
              "lhs_contracting_dims={0}, rhs_contracting_dims={0}, frontend_attributes={a=\"b\"}")),
      "changed d: lhs_contracting_dims frontend_attributes");
  EXPECT_EQ(Words(text("lhs_contracting_dims={1}, rhs_contracting_dims={0}, backend_config=\"x\""),
                  text("lhs_contracting_dims={1}, rhs_contracting_dims={0}")),
            "changed d: backend_config");
}

TEST(Diff, MetadataCountsOnDemand) {
  std::string a = Entry("  ROOT p = f32[] parameter(0), metadata={op_name=\"x\"}");
  std::string b = Entry("  ROOT p = f32[] parameter(0), metadata={op_name=\"y\"}");
  EXPECT_EQ(Words(a, b), "");
  EXPECT_EQ(Words(a, b, {.metadata = true}), "changed p: metadata");
}

TEST(Diff, Constants) {
  auto text = [](const std::string& value) {
    return Entry("  ROOT c = f32[2] constant(" + value + ")");
  };
  EXPECT_EQ(Words(text("{1, 2}"), text("{1, 2}")), "");
  EXPECT_EQ(Words(text("{1, 2}"), text("{1, 3}")), "changed c: ");
  EXPECT_EQ(Words(text("{0, 0}"), text("{0, -0.0}")), "changed c: ");
  EXPECT_EQ(Words(text("{...}"), text("{...}")), "");
  EXPECT_EQ(Words(text("{...}"), text("{1, 2}")), "changed c: ");
}

TEST(Diff, AddedAndRemoved) {
  std::string a =
      Entry("  p = f32[2] parameter(0)\n  a = f32[2] negate(p)\n  ROOT b = f32[2] exponential(a)");
  std::string b = Entry(
      "  p = f32[2] parameter(0)\n  a = f32[2] negate(p)\n  i = f32[2] sine(a)\n  ROOT b = f32[2] "
      "exponential(i)");
  EXPECT_EQ(Words(a, b), "changed b: operand 0; added i");
  EXPECT_EQ(Words(b, a), "changed b: operand 0; removed i");
  EXPECT_EQ(Words(a, Entry("  p = f32[2] parameter(0)\n  q = s32[] parameter(1)\n  a = f32[2] "
                           "negate(p)\n  ROOT b = f32[2] exponential(a)")),
            "added q");
}

TEST(Diff, NumbersInNamesThatMoved) {
  // What was add.1 is add.2 now: names mean something else, contents decide.
  auto chain = [](int first, bool extra) {
    std::string out = "  p = f32[2] parameter(0)\n";
    std::string last = "p";
    for (int i = 0; i < 6; ++i) {
      std::string name = "add." + std::to_string(first + i);
      out += "  " + name + " = f32[2] add(" + last + ", " + last + ")\n";
      last = name;
    }
    if (extra) out += "  s = f32[2] sine(p)\n";
    return Entry(out + "  ROOT t = (f32[2]) tuple(" + last + ")");
  };
  EXPECT_EQ(Words(chain(1, false), chain(2, true)), "added s");
}

const char kCalls[] = R"(HloModule m

sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }

largest { x.1 = f32[] parameter(0)  y.1 = f32[] parameter(1)  ROOT r.1 = f32[] maximum(x.1, y.1) }

ENTRY e {
  p = f32[2,3] parameter(0)
  z = f32[] constant(0)
  a = f32[2] reduce(p, z), dimensions={1}, to_apply=sum
  b = f32[2] reduce(p, z), dimensions={1}, to_apply=largest
  ROOT t = (f32[2], f32[2]) tuple(a, b)
}
)";

TEST(Diff, ComputationsInAnotherOrderUnderOtherNames) {
  EXPECT_EQ(Words(kCalls, R"(HloModule m

g.2 { x.1 = f32[] parameter(0)  y.1 = f32[] parameter(1)  ROOT r.1 = f32[] maximum(x.1, y.1) }

g.1 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }

ENTRY e {
  p = f32[2,3] parameter(0)
  z = f32[] constant(0)
  a = f32[2] reduce(p, z), dimensions={1}, to_apply=g.1
  b = f32[2] reduce(p, z), dimensions={1}, to_apply=g.2
  ROOT t = (f32[2], f32[2]) tuple(a, b)
}
)"),
            "");
}

TEST(Diff, AnotherComputationIsCalled) {
  std::string other = kCalls;
  other.replace(other.find("to_apply=largest"), 16, "to_apply=sum");
  EXPECT_EQ(Words(kCalls, other), "changed b: called_computations");
}

TEST(Diff, AComputationOfItsOwnForASecondCall) {
  const std::string sum =
      "{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }\n\n";
  const std::string copy =
      "{ x.1 = f32[] parameter(0)  y.1 = f32[] parameter(1)  ROOT r.1 = f32[] add(x.1, y.1) }\n\n";
  auto entry = [](const std::string& second) {
    return R"(ENTRY e {
  p = f32[2,3] parameter(0)
  z = f32[] constant(0)
  a = f32[2] reduce(p, z), dimensions={1}, to_apply=sum
  b = f32[3] reduce(p, z), dimensions={0}, to_apply=)" +
           second + "\n  ROOT t = (f32[2], f32[3]) tuple(a, b)\n}\n";
  };
  std::string shared = "HloModule m\n\nsum " + sum + entry("sum");
  std::string apart = "HloModule m\n\nsum " + sum + "sum.1 " + copy + entry("sum.1");
  EXPECT_EQ(Words(shared, apart), "computation sum.1 like sum");
  EXPECT_EQ(Words(apart, shared), "computation gone sum.1");
}

TEST(Diff, CopiesInAComputationThatIsNew) {
  EXPECT_EQ(
      Words("HloModule m\n\nENTRY e { ROOT p = f32[2,3] parameter(0) }\n",
            "HloModule m\n\ng { x = f32[2,3] parameter(0)  ROOT c = f32[2,3]{0,1} copy(x) }\n\n"
            "ENTRY e { p = f32[2,3] parameter(0)  ROOT k = f32[2,3]{0,1} call(p), to_apply=g }\n"),
      "entry result {1,0} {0,1}; appeared c; changed k: root; added k; computation g");
}

TEST(Diff, ControlEdgesAndHeader) {
  auto text = [](const std::string& header, const std::string& edge) {
    return "HloModule m" + header +
           "\n\nENTRY e {\n  p = f32[2] parameter(0)\n  a = f32[2] negate(p)\n" +
           "  b = f32[2] sine(p)" + edge + "\n  ROOT r = f32[2] add(a, b)\n}\n";
  };
  EXPECT_EQ(Words(text("", ""), text("", ", control-predecessors={a}")),
            "changed b: control-predecessors");
  EXPECT_EQ(Words(text(", replica_count=2", ""), text(", num_partitions=2", "")),
            "header replica_count; header num_partitions");
}

TEST(Diff, OrderOfASchedule) {
  std::string a = "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[2] parameter(0)\n";
  std::string x = "  x = f32[2] negate(p)\n", y = "  y = f32[2] sine(p)\n";
  std::string end = "  ROOT r = f32[2] add(x, y)\n}\n";
  EXPECT_EQ(Words(a + x + y + end, a + x + y + end), "");
  EXPECT_EQ(Words(a + x + y + end, a + y + x + end), "header schedule of %e");
}

}  // namespace
}  // namespace hlokit
