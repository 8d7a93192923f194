// Broken references and lists. The reader makes no such modules, so they are broken by hand.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

constexpr const char* kText =
    "HloModule m\n"
    "f {\n  q = f32[2] parameter(0)\n  ROOT n = f32[2] negate(q)\n}\n"
    "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n  s = f32[2] add(a, b)\n"
    "  c = f32[2] call(s), to_apply=f\n  ROOT t = f32[2] negate(c)\n}\n";

class Structure : public testing::Test {
 protected:
  Structure() : module_(std::move(*ReadText(kText))) {}
  InstId Find(const char* name) { return module_.FindInstruction(name); }
  CompId Comp(const char* name) { return module_.FindComputation(name); }
  std::string Codes() { return CodesOf(module_); }
  Module module_;
};

TEST_F(Structure, IsSoundAsRead) { EXPECT_EQ(Codes(), ""); }

TEST_F(Structure, ModuleNeedsAName) {
  module_.config().name.clear();
  EXPECT_EQ(Codes(), "V010");
}

TEST_F(Structure, EntryMissing) {
  module_.set_entry(CompId());
  EXPECT_EQ(Codes(), "V011");
}

TEST_F(Structure, EntryRemoved) {
  module_.computation(module_.entry()).dead = true;
  EXPECT_EQ(Codes(), "V011");
}

TEST_F(Structure, OperandDoesNotExist) {
  module_.SetOperand(Find("s"), 1, InstId(1000));
  EXPECT_EQ(Codes(), "V012");
}

TEST_F(Structure, OperandWasRemoved) {
  module_.SetOperand(Find("t"), 0, Find("s"));
  module_.SetOperand(Find("t"), 0, Find("c"));
  module_.MarkDead(Find("s"));
  EXPECT_EQ(Codes(), "V012");
}

TEST_F(Structure, CalleeDoesNotExist) {
  module_.SetCalledComputation(Find("c"), 0, CompId(77));
  EXPECT_EQ(Codes(), "V012");
}

TEST_F(Structure, ShapeMissing) {
  module_.set_shape(Find("c"), ShapeId());
  EXPECT_EQ(Codes(), "V012");
}

TEST_F(Structure, OperandOfAnotherComputation) {
  module_.SetOperand(Find("s"), 1, Find("q"));
  EXPECT_EQ(Codes(), "V013");
}

TEST_F(Structure, RootMissing) {
  module_.computation(module_.entry()).root = InstId();
  EXPECT_EQ(Codes(), "V014");
}

TEST_F(Structure, ListedTwice) {
  module_.computation(module_.entry()).instructions.push_back(Find("s"));
  EXPECT_EQ(Codes(), "V014");
}

TEST_F(Structure, NotListed) {
  std::vector<InstId>& list = module_.computation(module_.entry()).instructions;
  std::erase(list, Find("t"));
  EXPECT_EQ(Codes(), "V014");
}

TEST_F(Structure, ParametersSwapped) {
  std::swap(module_.computation(module_.entry()).parameters[0],
            module_.computation(module_.entry()).parameters[1]);
  EXPECT_EQ(Codes(), "V014 V014");
}

TEST_F(Structure, ParameterListTooShort) {
  module_.computation(module_.entry()).parameters.pop_back();
  EXPECT_EQ(Codes(), "V014");
}

TEST_F(Structure, CircleOfOperands) {
  module_.SetOperand(Find("s"), 0, Find("c"));
  EXPECT_EQ(Codes(), "V015");
}

TEST_F(Structure, CircleThroughAControlEdge) {
  uint32_t after[] = {Find("c").value};
  Attr attr = module_.RefsAttribute(AttrKind::kControlPredecessors, after);
  module_.SetAttr(Find("s"), attr);
  EXPECT_EQ(Codes(), "V015");
}

TEST_F(Structure, LaterOperandsAreNoCircle) {
  std::vector<InstId>& list = module_.computation(module_.entry()).instructions;
  std::swap(list[2], list[4]);
  EXPECT_EQ(Codes(), "");
}

TEST_F(Structure, ComputationCallsItself) {
  uint32_t callee[] = {Comp("f").value};
  InstId call = module_.AddInstruction(Comp("f"), Opcode::kCall, module_.shape(Find("q")),
                                       std::vector{Find("q")}, module_.text().Append("again"));
  module_.SetAttr(call, module_.RefsAttribute(AttrKind::kCalledComputations, callee));
  EXPECT_EQ(Codes(), "V016");
}

TEST_F(Structure, SameNameTwice) {
  module_.set_name(Find("s"), module_.name_ref(Find("q")));
  EXPECT_EQ(Codes(), "V017");
}

TEST_F(Structure, ComputationsOfTheSameName) {
  module_.computation(Comp("f")).name = module_.computation(module_.entry()).name;
  EXPECT_EQ(Codes(), "V017");
}

TEST_F(Structure, CalleeOnAnOpcodeThatCallsNothing) {
  uint32_t callee[] = {Comp("f").value};
  module_.SetAttr(Find("s"), module_.RefsAttribute(AttrKind::kCalledComputations, callee));
  EXPECT_EQ(Codes(), "V018");
}

TEST_F(Structure, CallWithoutCallee) {
  module_.RemoveAttr(Find("c"), AttrKind::kCalledComputations);
  EXPECT_EQ(Codes(), "V018");
}

TEST_F(Structure, EntryIsAFusionBody) {
  InstId call = Find("c");
  module_.set_entry(Comp("f"));
  module_.set_opcode(call, Opcode::kFusion);
  module_.config().entry_computation_layout.reset();
  EXPECT_EQ(Codes(), "V011");
}

TEST_F(Structure, PlaceOfAFinding) {
  module_.set_shape(Find("t"), module_.shapes().Array(ElementType::kF32, std::vector<int64_t>{3}));
  std::vector<VerifierFinding> findings = FindProblems(module_);
  ASSERT_EQ(findings.size(), 2u);  // the shape itself, and the entry computation layout
  EXPECT_EQ(findings[0].diagnostic.location.line, 11u);
  EXPECT_EQ(findings[0].diagnostic.source_line, "  ROOT t = f32[2] negate(c)");
  EXPECT_EQ(findings[0].instruction, Find("t"));
  EXPECT_EQ(findings[0].computation, module_.entry());
}

TEST_F(Structure, InstructionsOfPassesAreShown) {
  InstId made = module_.AddInstruction(module_.entry(), Opcode::kCopy, module_.shape(Find("a")),
                                       std::vector<InstId>{}, module_.text().Append("made"));
  std::vector<VerifierFinding> findings = FindProblems(module_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].instruction, made);
  EXPECT_EQ(findings[0].diagnostic.location.line, 0u);
  EXPECT_NE(findings[0].diagnostic.message.find("%made = f32[2]{0} copy()"), std::string::npos);
}

TEST_F(Structure, TheNumberOfFindingsIsLimited) {
  for (int i = 0; i < 20; ++i) {
    module_.AddInstruction(module_.entry(), Opcode::kCopy, module_.shape(Find("a")),
                           std::vector<InstId>{}, module_.UniqueInstructionName("made"));
  }
  EXPECT_EQ(CodesOf(module_, {.max_findings = 3}), "V001 V001 V001 V099");
  EXPECT_FALSE(VerifyModule(module_, {.max_findings = 3}));
}

TEST_F(Structure, StatusHasTheExitCodeOfTheVerifier) {
  EXPECT_TRUE(VerifyModule(module_));
  module_.config().name.clear();
  Status status = VerifyModule(module_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().exit_code, ExitCode::kVerifyFailed);
}

}  // namespace
}  // namespace hlokit
