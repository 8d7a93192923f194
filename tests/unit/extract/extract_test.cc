// What does an extract hold?
#include "hlokit/extract.h"

#include <string>

#include "gtest/gtest.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {
namespace {

Module Read(const std::string& text) {
  Result<Module> module = ReadText(text);
  if (!module) ADD_FAILURE() << FormatError(module.error()) << text;
  return module ? std::move(*module) : Module();
}

/// The printed extract, which must verify; or the error.
std::string Extract(const Module& module, std::string_view name,
                    uint32_t height = ExtractOptions::kAllTheWay) {
  InstId id = module.FindInstruction(name);
  if (!id.valid()) return "no such instruction";
  Result<Module> extract = ExtractInstruction(module, id, {.height = height});
  if (!extract) return FormatError(extract.error());
  std::string text = PrintModule(*extract, {.large_constants = true});
  Module again = Read(text);
  Status status = VerifyModule(again);
  EXPECT_TRUE(status) << FormatError(status.error()) << text;
  EXPECT_EQ(PrintModule(again, {.large_constants = true}), text);
  return text;
}

const char kChain[] =
    R"(HloModule m, replica_count=2, entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0}, s32[])->f32[2,3]{0,1}}

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %r = f32[] add(%x, %y)
}

ENTRY %main (p: f32[2,3], q: f32[2,3], n: s32[]) -> f32[2,3] {
  %p = f32[2,3]{1,0} parameter(0)
  %q = f32[2,3]{1,0} parameter(1), metadata={op_name="q"}
  %n = s32[] parameter(2)
  %c = f32[] constant(2)
  %zero = f32[] constant(0)
  %bc = f32[2,3]{1,0} broadcast(%c), dimensions={}
  %mul = f32[2,3]{1,0} multiply(%q, %bc), metadata={op_name="mul" source_line=7}
  %neg = f32[2,3]{0,1} negate(%mul)
  %red = f32[2]{0} reduce(%neg, %zero), dimensions={1}, to_apply=%sum
  %back = f32[2,3]{1,0} broadcast(%red), dimensions={0}
  ROOT %add = f32[2,3]{1,0} add(%back, %p)
}
)";

TEST(Extract, WithEverythingAboveIt) {
  EXPECT_EQ(
      Extract(Read(kChain), "red"),
      R"(HloModule m.red, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}, replica_count=2

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %r = f32[] add(%x, %y)
}

ENTRY %main (q: f32[2,3]) -> f32[2] {
  %q = f32[2,3]{1,0} parameter(0), metadata={op_name="q"}
  %c = f32[] constant(2)
  %bc = f32[2,3]{1,0} broadcast(%c), dimensions={}
  %mul = f32[2,3]{1,0} multiply(%q, %bc), metadata={op_name="mul" source_line=7}
  %neg = f32[2,3]{0,1} negate(%mul)
  %zero = f32[] constant(0)
  ROOT %red = f32[2]{0} reduce(%neg, %zero), dimensions={1}, to_apply=%sum
}

)");
}

TEST(Extract, ValuesAboveTheCutBecomeParameters) {
  std::string text = Extract(Read(kChain), "%red", 0);
  EXPECT_NE(text.find("entry_computation_layout={(f32[2,3]{0,1})->f32[2]{0}}"), std::string::npos);
  EXPECT_NE(text.find("%neg = f32[2,3]{0,1} parameter(0)\n"), std::string::npos);
  EXPECT_NE(text.find("%zero = f32[] constant(0)\n"), std::string::npos) << "leaves stay";
  EXPECT_EQ(text.find("multiply"), std::string::npos);

  text = Extract(Read(kChain), "red", 1);
  EXPECT_NE(
      text.find("%mul = f32[2,3]{1,0} parameter(0), metadata={op_name=\"mul\" source_line=7}\n"),
      std::string::npos);
  EXPECT_NE(text.find("negate(%mul)"), std::string::npos);
}

TEST(Extract, ParametersComeFirstAndKeepWhatTheHeaderPromised) {
  std::string text = Extract(Read(kChain), "add", 0);
  // p was parameter 0 and stays in front of the value that was cut, which stands before it as
  // operand.
  EXPECT_NE(text.find("entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->f32[2,3]{0,1}}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("%p = f32[2,3]{1,0} parameter(0)"), std::string::npos);
  EXPECT_NE(text.find("%back = f32[2,3]{1,0} parameter(1)"), std::string::npos);
}

TEST(Extract, AnInstructionOfAnotherComputationAndAParameter) {
  EXPECT_EQ(Extract(Read(kChain), "r"),
            R"(HloModule m.r, entry_computation_layout={(f32[], f32[])->f32[]}, replica_count=2

ENTRY %sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %r = f32[] add(%x, %y)
}

)");
  std::string text = Extract(Read(kChain), "n");
  EXPECT_NE(text.find("ROOT %n = s32[] parameter(0)"), std::string::npos) << text;
}

const char kAsync[] = R"(HloModule a

%wrapped (w: f32[4]) -> f32[4] {
  %w = f32[4]{0} parameter(0)
  ROOT %exp = f32[4]{0} exponential(%w)
}

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %in = f32[4]{0} negate(%p)
  %start = ((f32[4]{0}), f32[4]{0}) async-start(%in), calls=%wrapped
  %update = ((f32[4]{0}), f32[4]{0}) async-update(%start)
  %done = f32[4]{0} async-done(%update)
  %cs = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(%p)
  %cd = f32[4]{0} copy-done(%cs)
  ROOT %sum = f32[4]{0} add(%done, %cd), control-predecessors={%in}
}
)";

TEST(Extract, AsynchronousOperationsStayWhole) {
  Module module = Read(kAsync);
  std::string done = Extract(module, "done", 0);
  EXPECT_NE(done.find("async-start"), std::string::npos);
  EXPECT_NE(done.find("%in = f32[4]{0} parameter(0)"), std::string::npos);
  EXPECT_NE(done.find("exponential"), std::string::npos);
  // The start, asked for, brings its end, which is the result.
  for (const char* name : {"start", "update"}) {
    std::string text = Extract(module, name, 0);
    EXPECT_NE(text.find("ROOT %done"), std::string::npos) << text;
    EXPECT_NE(text.find("HloModule a.done"), std::string::npos) << text;
  }
  std::string sum = Extract(module, "sum", 1);
  EXPECT_NE(sum.find("copy-start(%p)"), std::string::npos) << sum;
  EXPECT_NE(sum.find("%in = f32[4]{0} parameter(1)"), std::string::npos) << sum;
  EXPECT_NE(sum.find("control-predecessors={%in}"), std::string::npos) << "the stand-in is one";
  sum = Extract(module, "sum", 0);
  EXPECT_EQ(sum.find("control-predecessors"), std::string::npos) << sum;
}

TEST(Extract, AStartThatAnotherComputationEndsIsRefused) {
  Module module = Read(R"(HloModule a, entry_computation_layout={(f32[4]{0},token[])->token[]}

%wrapped (w: f32[4], t: token[]) -> (f32[4], u32[], token[]) {
  %w = f32[4]{0} parameter(0)
  %t = token[] parameter(1)
  ROOT %send = (f32[4]{0}, u32[], token[]) send(%w, %t)
}

ENTRY %main (p: f32[4], u: token[]) -> token[] {
  %p = f32[4]{0} parameter(0)
  %u = token[] parameter(1)
  %start = ((f32[4]{0}, token[]), (f32[4]{0}, u32[], token[]), u32[]) async-start(%p, %u), calls=%wrapped
  %mid = (f32[4]{0}, u32[], token[]) async-done(%start)
  ROOT %end = token[] send-done(%mid)
}
)");
  std::string text = Extract(module, "send");
  EXPECT_NE(text.find("[U001]"), std::string::npos) << text;
  EXPECT_NE(text.find("%send starts what another computation ends"), std::string::npos) << text;
}

TEST(Extract, TokensAndBuffersAreMade) {
  Module module = Read(R"(HloModule t

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %none = token[] after-all()
  %in = ((f32[4]{0}, s32[]), token[]) infeed(%none)
  %data = (f32[4]{0}, s32[]) get-tuple-element(%in), index=0
  %x = f32[4]{0} get-tuple-element(%data), index=0
  %after = token[] get-tuple-element(%in), index=1
  %out = token[] outfeed(%x, %after), outfeed_shape=f32[4]{0}
  ROOT %sum = f32[4]{0} add(%x, %p)
}
)");
  std::string out = Extract(module, "out", 0);
  EXPECT_NE(out.find("%after = token[] after-all()"), std::string::npos) << out;
  EXPECT_NE(out.find("%x = f32[4]{0} parameter(0)"), std::string::npos) << out;
  std::string data = Extract(module, "data", 0);
  EXPECT_NE(data.find("%in = ((f32[4]{0}, s32[]), token[]) tuple("), std::string::npos) << data;
  EXPECT_NE(data.find("(f32[4]{0}, s32[])->(f32[4]{0}, s32[])"), std::string::npos) << data;
}

TEST(Extract, ConstantsCarryTheirValues) {
  Module module = Read(R"(HloModule c

ENTRY %main () -> (f32[2], (s32[], f32[2])) {
  %a = f32[2]{0} constant({1.5, 2.5})
  %t = (s32[], f32[2]{0}) constant((7, {3, 4}))
  ROOT %r = (f32[2]{0}, (s32[], f32[2]{0})) tuple(%a, %t)
}
)");
  std::string text = Extract(module, "r", 0);
  EXPECT_NE(text.find("constant({1.5, 2.5})"), std::string::npos) << text;
  EXPECT_NE(text.find("7, {3, 4}"), std::string::npos) << text;
}

}  // namespace
}  // namespace hlokit
