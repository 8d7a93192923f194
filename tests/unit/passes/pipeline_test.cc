// The framework: registry, pipeline text, filters, invariants, observers, failures.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "hlokit/file.h"
#include "hlokit/pass_observers.h"
#include "pass_test_util.h"

namespace hlokit {
namespace {

constexpr std::string_view kDeadCode = R"(HloModule m
ENTRY main {
  p = f32[2]{0} parameter(0)
  dead = f32[2]{0} negate(p)
  ROOT r = f32[2]{0} abs(p)
}
)";

TEST(Registry, NameIsFileName) {
  for (const RegisteredPass& pass : RegisteredPasses()) {
    std::string file = pass.name;
    std::replace(file.begin(), file.end(), '-', '_');
    EXPECT_TRUE(
        std::filesystem::exists(std::string(HLOKIT_SOURCE_DIR) + "/src/passes/" + file + ".cc"))
        << pass.name;
    EXPECT_EQ(pass.info->make()->name(), pass.name);
    EXPECT_FALSE(pass.info->summary.empty());
    EXPECT_FALSE(pass.info->help.empty());
  }
}

TEST(Registry, NamesAreUniqueAndEachRunGetsAFreshPass) {
  std::set<std::string_view> names;
  for (const RegisteredPass& pass : RegisteredPasses()) EXPECT_TRUE(names.insert(pass.name).second);
  for (const PipelineInfo& pipeline : RegisteredPipelines())
    EXPECT_TRUE(names.insert(pipeline.name).second);
  const RegisteredPass* dce = FindPass("dce");
  ASSERT_NE(dce, nullptr);
  EXPECT_NE(dce->info->make(), dce->info->make());
}

TEST(Registry, KnowsThePassesOfTheNeuronTool) {
  EXPECT_EQ(NeuronPassNames().size(), 112u);
  EXPECT_EQ(NeuronPassNumber("tuple-simplifier"), 1);
  EXPECT_EQ(NeuronPassNumber("io-layout-normalization"), 23);
  EXPECT_EQ(NeuronPassNumber("aws_neuron_ensure_descending_layout_in_root"), 71);
  EXPECT_EQ(NeuronPassNumber("aws_neuron_relax_collectives_layout_constraint"), 75);
  EXPECT_EQ(NeuronPassNumber("all-gather-combiner"), 77);
  EXPECT_EQ(NeuronPassNumber("while_loop_unroller"), 112);
  EXPECT_EQ(NeuronPassNumber("layout-assignment"), 0);
  int expanders = 0;
  for (const NeuronPassName& name : NeuronPassNames()) expanders += name.is_expander;
  EXPECT_EQ(expanders, 25);
}

std::string PipelineError(std::string_view text) {
  Result<Pipeline> pipeline = ParsePipeline(text);
  return pipeline ? std::string() : FormatError(pipeline.error());
}

TEST(PipelineText, NamesAndOptions) {
  Result<Pipeline> pipeline = ParsePipeline("dce,all-reduce-combiner{key=stock count=2},dce");
  ASSERT_TRUE(pipeline.has_value());
  ASSERT_EQ(pipeline->steps.size(), 3u);
  EXPECT_EQ(pipeline->steps[1].options.Text("key"), "stock");
  EXPECT_EQ(pipeline->steps[1].options.Int("count"), 2);
  EXPECT_EQ(pipeline->steps[1].options.Int("bytes"), 1073741824);
  EXPECT_EQ(pipeline->ToText(), "dce,all-reduce-combiner{key=stock count=2},dce");
}

TEST(PipelineText, ValuesMayHoldBlanksAndCommasInsideBrackets) {
  Result<Pipeline> pipeline = ParsePipeline(
      "all-reduce-combiner{groups={{0,1},{2,3}} "
      "count=2},layout-assignment{entry-layouts=\"(f32[2]{0}, f32[])->f32[]\"}");
  ASSERT_TRUE(pipeline.has_value());
  EXPECT_EQ(pipeline->steps[0].options.Text("groups"), "{{0,1},{2,3}}");
  EXPECT_EQ(pipeline->steps[1].options.Text("entry-layouts"), "(f32[2]{0}, f32[])->f32[]");
  Result<Pipeline> again = ParsePipeline(pipeline->ToText());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->ToText(), pipeline->ToText());
}

TEST(PipelineText, BoolOptionsNeedNoValue) {
  Result<Pipeline> pipeline = ParsePipeline("tuple-simplifier{exclude-entry}");
  ASSERT_TRUE(pipeline.has_value());
  EXPECT_TRUE(pipeline->steps[0].options.Bool("exclude-entry"));
}

TEST(PipelineText, Errors) {
  EXPECT_NE(PipelineError("foo").find("Pass foo not found."), std::string::npos);
  EXPECT_NE(PipelineError("").find("Pass  not found."), std::string::npos);
  EXPECT_NE(PipelineError("dce,,dce").find("Pass  not found."), std::string::npos);
  EXPECT_NE(PipelineError("dce, dce").find("Pass  dce not found."), std::string::npos);
  EXPECT_NE(PipelineError("dce, dce").find("blanks"), std::string::npos);
  EXPECT_NE(PipelineError("tuple-simplifer").find("did you mean tuple-simplifier?"),
            std::string::npos);
  EXPECT_NE(PipelineError("legalize-softmax").find("number 7 of the Neuron tool"),
            std::string::npos);
  EXPECT_NE(PipelineError("legalize-softmax").find("not implemented"), std::string::npos);
  EXPECT_NE(PipelineError("dce{a=1}").find("pass dce has no option a"), std::string::npos);
  EXPECT_NE(PipelineError("all-reduce-combiner{count=x}").find("count"), std::string::npos);
  EXPECT_NE(PipelineError("all-reduce-combiner{count=99999999999999999999}").find("64 bits"),
            std::string::npos);
  EXPECT_NE(PipelineError("all-reduce-combiner{key=other}").find("neuron|stock"),
            std::string::npos);
  EXPECT_NE(PipelineError("all-reduce-combiner{count=}").find("without a value"),
            std::string::npos);
  EXPECT_NE(PipelineError("all-reduce-combiner{=2}").find("without a name"), std::string::npos);
  EXPECT_NE(PipelineError("dce{"), "");
  EXPECT_NE(PipelineError("dce}"), "");
  EXPECT_NE(PipelineError("dce{}x"), "");
  EXPECT_NE(PipelineError("dce{a=\"}"), "");
  EXPECT_NE(PipelineError("neuron-layout{a=1}"), "");
}

/// Which passes of a pipeline a filter lets through.
std::string Enabled(std::string_view passes, const PassFilter& filter) {
  Result<Pipeline> pipeline = ParsePipeline(passes);
  std::string out;
  for (const PipelineStep& step : pipeline->steps) {
    if (IsEnabled(filter, *pipeline, step)) out += (out.empty() ? "" : ",") + step.pass->name;
  }
  return out;
}

TEST(Filter, ListsAreExact) {
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {}), "dce,tuple-simplifier");
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {.disable = {"dce"}}), "tuple-simplifier");
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {.disable = {"dc"}}), "dce,tuple-simplifier");
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {.only = {"dce"}}), "dce");
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {.disable = {"dce"}, .only = {"dce"}}), "");
  EXPECT_EQ(Enabled("dce,tuple-simplifier", {.disable_all = true}), "");
}

TEST(Filter, PipelinesRunOrSkipAsAWhole) {
  constexpr std::string_view kPasses = "dce,neuron-layout";
  EXPECT_EQ(Enabled(kPasses, {.disable = {"neuron-layout"}}), "dce");
  EXPECT_EQ(Enabled(kPasses, {.disable = {"transforms_pipeline"}}), "");
  // A pipeline that is not named is dropped, whatever it holds.
  EXPECT_EQ(Enabled(kPasses, {.only = {"all-reduce-combiner"}}), "");
  EXPECT_EQ(Enabled("neuron-layout", {.only = {"neuron-layout"}}), Enabled("neuron-layout", {}));
  EXPECT_EQ(Enabled(kPasses, {.only = {"transforms_pipeline", "all-reduce-combiner"}}),
            "dce,all-reduce-combiner");
}

TEST(Filter, TyposGetANearName) {
  std::vector<Diagnostic> warnings =
      CheckFilterNames({.disable = {"dce", "tuple-simplifyer", "hlo-verifier"}});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].help, "did you mean tuple-simplifier?");
}

TEST(Run, StopsAtTheFirstErrorAndSaysWhere) {
  Module module = MustRead(kDeadCode);
  module.config().entry_computation_layout.reset();
  RunOutcome outcome = RunPasses(module, "io-layout-normalization,dce");
  EXPECT_NE(outcome.error, "");
  EXPECT_TRUE(module.FindInstruction("dead").valid());  // dce did not run
}

TEST(Run, InvariantsAreCheckedBeforeAPass) {
  Result<Module> module = ReadText(
      "HloModule m\nENTRY e {\n  p = f32[2,2] parameter(0)\n  ROOT r = f32[2,2] abs(p)\n}\n",
      {.fill_missing_layouts = false});
  ASSERT_TRUE(module.has_value());
  RunOutcome outcome = RunPasses(*module, "layout-normalization");
  EXPECT_NE(outcome.error.find("pass layout-normalization cannot run: p has no layout"),
            std::string::npos);
  EXPECT_EQ(outcome.exit_code, ExitCode::kUnsupported);
}

TEST(Run, FlatCallGraphIsAnInvariant) {
  Module module = MustRead(R"(HloModule m
f {
  q = f32[] parameter(0)
  ROOT n = f32[] negate(q)
}
ENTRY main {
  p = f32[] parameter(0)
  a = f32[] call(p), to_apply=f
  ROOT b = f32[] call(a), to_apply=f
}
)");
  EXPECT_FALSE(CheckInvariant(module, Invariant::kFlatCallGraph).has_value());
  EXPECT_TRUE(RunPasses(module, "flatten-call-graph").changed);
  EXPECT_TRUE(CheckInvariant(module, Invariant::kFlatCallGraph).has_value());
  EXPECT_FALSE(RunPasses(module, "flatten-call-graph").changed);
}

TEST(Run, SilentChangesAreFound) {
  Module module = MustRead(kDeadCode);
  EXPECT_EQ(
      RunPasses(module, "dce,dce", {.check_silent_change = true, .check_noop_change = true}).error,
      "");
}

TEST(Run, StampingIsNoSilentChange) {
  Module module = MustRead("HloModule m\nENTRY main {\n  ROOT p = f32[2,3]{0,1} parameter(0)\n}\n");
  EXPECT_EQ(RunPasses(module, "io-layout-normalization",
                      {.check_silent_change = true, .check_noop_change = true})
                .error,
            "");
}

TEST(Run, LogSaysWhoChangedWhat) {
  Module module = MustRead(kDeadCode);
  InstId dead = module.FindInstruction("dead");
  EditLog log;
  RunPasses(module, "tuple-simplifier,dce", {.log = &log});
  ASSERT_EQ(log.groups.size(), 2u);
  EXPECT_TRUE(log.groups[0].edits.empty());
  ASSERT_EQ(log.groups[1].edits.size(), 1u);
  EXPECT_EQ(log.groups[1].pass, "dce");
  EXPECT_EQ(log.groups[1].edits[0].kind, Edit::Kind::kRemoved);
  EXPECT_EQ(log.groups[1].edits[0].inst, dead);
}

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("hlokit_passes_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::string Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.insert(entry.path().filename());
    std::string out;
    for (const std::string& name : names) out += name + "\n";
    return out;
  }

 private:
  std::filesystem::path path_;
};

TEST(Dump, NamesOfXla) {
  TemporaryFolder folder;
  Result<std::unique_ptr<DumpObserver>> dump =
      DumpObserver::Make({.directory = folder.path(), .pass_re = ".*"});
  ASSERT_TRUE(dump.has_value());
  Module module = MustRead(kDeadCode);
  RunPasses(module, "tuple-simplifier,dce", {.observers = {dump->get()}});
  // tuple-simplifier changes nothing, so ".*" leaves it out.
  EXPECT_EQ(
      folder.Names(),
      "module_0000.m.0000.transforms_pipeline.after_pipeline-start.before_tuple-simplifier.txt\n"
      "module_0000.m.0001.transforms_pipeline.after_dce.before_pipeline-end.txt\n"
      "module_0000.m.after_optimization.txt\n"
      "module_0000.m.before_optimization.txt\n");
}

TEST(Dump, OtherExpressionsDumpWithoutChange) {
  TemporaryFolder folder;
  Result<std::unique_ptr<DumpObserver>> dump =
      DumpObserver::Make({.directory = folder.path(), .pass_re = "tuple"});
  ASSERT_TRUE(dump.has_value());
  Module module = MustRead(kDeadCode);
  RunPasses(module, "tuple-simplifier,dce,dce", {.observers = {dump->get()}});
  EXPECT_EQ(
      folder.Names(),
      "module_0000.m.0000.transforms_pipeline.after_pipeline-start.before_tuple-simplifier.txt\n"
      "module_0000.m.0001.transforms_pipeline.after_tuple-simplifier.before_dce.txt\n"
      "module_0000.m.after_optimization.txt\n"
      "module_0000.m.before_optimization.txt\n");
}

TEST(Dump, FileNamesAreSafe) {
  EXPECT_EQ(DumpObserver::FileName(7, "a/b [c]\\d", "x", "txt"), "module_0007.a_b__c__d.x.txt");
  EXPECT_EQ(DumpObserver::FileName(0, std::string(300, 'n'), "x", "txt"), "module_0000.x.txt");
}

TEST(Dump, BadExpressionIsAnError) {
  EXPECT_FALSE(DumpObserver::Make({.directory = "x", .pass_re = "("}).has_value());
}

TEST(Reproducer, HoldsModuleAndCommand) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  std::string path = folder.path() + "/repro.hlo";
  ReproducerObserver reproducer(path);
  Module module = MustRead(kDeadCode);
  module.config().entry_computation_layout.reset();
  RunPasses(module, "dce,io-layout-normalization",
            {.keep_before = true, .observers = {&reproducer}});
  EXPECT_TRUE(reproducer.written());
  Result<std::string> text = ReadFile(path);
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find("// RUN: hlo-opt %s --verify-each --passes='io-layout-normalization'"),
            std::string::npos);
  EXPECT_EQ(text->find("dead"), std::string::npos);  // the module in front of the failing pass
  EXPECT_TRUE(ReadText(*text).has_value());
}

}  // namespace
}  // namespace hlokit
