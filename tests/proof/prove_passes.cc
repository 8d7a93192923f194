// Does every pass leave the values of a module as they were?
//
//   prove_passes [--mutate] [--break] [--seeds N] [--only PIPELINE] [--limit N] [--show N]
//   [--work N] [--print] FILE-OR-FOLDER...
//
// --work: modules that compute more elements than N are not run (loops that do not end).
// Runs each pipeline of the table below over each module and compares the values before and after
// on several sets of inputs, bit by bit. Behind layout assignment the bytes are read strictly in
// the order that each shape says, so that a wrong layout gives a wrong number. Prints a table of
// counts; exit code 1 when a value differs or nothing was proven.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "hlokit/equal.h"
#include "hlokit/file.h"
#include "hlokit/pass.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"
#include "hlokit/reduce.h"
#include "hlokit/verifier.h"
#include "src/base/limits.h"

namespace hlokit {
namespace {

struct Row {
  const char* passes;
  bool strict;  // layouts are assigned afterwards
};

constexpr Row kRows[] = {
    {"layout-assignment", true},
    {"layout-assignment{entry-layouts=unset}", true},
    {"layout-assignment{reverse=true}", true},
    {"layout-assignment{row-reduction=true}", true},
    {"layout-assignment,layout-normalization", true},
    {"layout-assignment,layout-normalization{reference-quirks=false}", true},
    {"layout-assignment{entry-layouts=unset},layout-normalization{reference-quirks=false}", true},
    {"tuple-simplifier", false},
    {"dce", false},
    {"call-inliner", false},
    {"flatten-call-graph", false},
    {"all-reduce-combiner{key=stock}", false},
    {"all-reduce-combiner", false},
    {"all-gather-combiner{key=stock}", false},
    {"all-gather-combiner{key=stock by-dim=false}", false},
    {"all-gather-combiner", false},
    {"reduce-scatter-combiner{key=stock}", false},
    {"reduce-scatter-combiner", false},
    {"io-layout-normalization", false},
    {"aws_neuron_relax_collectives_layout_constraint", false},
    {"aws_neuron_relax_collectives_layout_constraint,all-reduce-combiner", false},
    {"aws_neuron_ensure_descending_layout_in_root", false},
    {"layout-assignment,aws_neuron_ensure_descending_layout_in_root", true},
    {"neuron-layout", false},
    {"flatten-call-graph,call-inliner,tuple-simplifier,dce", false},
    {"flatten-call-graph,copy-insertion", false},
    {"layout-assignment,flatten-call-graph,copy-insertion", true},
    {"flatten-call-graph,copy-insertion{region-analysis-limit=-1}", false},
    {"layout-assignment,flatten-call-graph,copy-insertion{region-analysis-limit=-1}", true},
    {"layout-assignment{backend=cpu}", true},
    {"layout-assignment{backend=gpu device=sm_80}", true},
    {"layout-assignment{backend=gpu device=gfx90a}", true},
    {"call-inliner,tuple-simplifier,dce,layout-assignment,"
     "layout-normalization{reference-quirks=false}",
     true},
};

enum class Verdict : uint8_t {
  kBitEqual,
  kUnchanged,
  kWarned,    // values change, and the pass says so
  kDisagree,  // layouts disagree inside the module, as in the reference
  kRefused,
  kNotRun,
  kDifferent,
};
constexpr size_t kVerdicts = 7;

struct Judgement {
  Verdict verdict;
  std::string detail = {};
};

struct Counts {
  int64_t of[kVerdicts] = {};
};

struct Settings {
  int64_t seeds = 3, limit = 1 << 30, show = 10, work = 1 << 24;
  std::string only;
  bool mutate = false;
  bool break_copies = false;
  bool print = false;  // modules that differ, as they are after the pass
  std::vector<std::string> files;
};

void AddPath(const std::string& path, std::vector<std::string>* files) {
  if (!std::filesystem::is_directory(path)) {
    files->push_back(path);
    return;
  }
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".hlo") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  files->insert(files->end(), found.begin(), found.end());
}

/// The kind of an error, for counting.
std::string Reason(const Error& error) {
  if (error.diagnostics.empty()) return "";
  const DiagId id = error.diagnostics[0].id;
  return fmt::format("{} {}", DiagCode(id), DiagSummary(id));
}

/// The result layout in the header is brought up to date:
/// aws_neuron_ensure_descending_layout_in_root leaves that to its caller.
void UpdateResultLayout(Module& module) {
  module.config().entry_computation_layout->result =
      module.shape(module.computation(module.entry()).root);
}

bool SaysThatValuesChange(const std::vector<Diagnostic>& warnings) {
  return std::any_of(warnings.begin(), warnings.end(), [](const Diagnostic& warning) {
    return warning.id == DiagId::kStampedBitcast || warning.id == DiagId::kReferenceQuirk;
  });
}

/// Does some asynchronous pair end in another order than it starts, or a wrapped computation take
/// another one than it is given? XLA's layout assignment links neither.
bool AsyncLayoutsDisagree(const Module& module) {
  const ShapePool& shapes = module.shapes();
  const auto differ = [&](ShapeId a, ShapeId b) { return !shapes.SameShapeAndOrder(a, b, false); };
  for (CompId computation : module.computation_order()) {
    for (InstId id : module.computation(computation).instructions) {
      const std::string_view opcode = Info(module.opcode(id)).text;
      if (module.opcode(id) == Opcode::kAsyncStart) {
        const CompId wrapped = module.called_computations(id)[0];
        for (uint32_t i = 0; i < module.operand_count(id); ++i) {
          const InstId parameter = module.computation(wrapped).parameters[i];
          if (differ(module.shape(module.operand(id, i)), module.shape(parameter))) return true;
        }
        const ShapeId result = shapes.element(module.shape(id), 1);
        if (differ(result, module.shape(module.computation(wrapped).root))) return true;
      } else if (opcode.ends_with("-done") && module.operand_count(id) == 1) {
        // The shape in which the start hands its result over.
        ShapeId result = module.shape(module.operand(id, 0));
        if (module.opcode(id) != Opcode::kAllReduceDone) {
          const uint32_t element = module.opcode(id) == Opcode::kCopyDone ? 0 : 1;
          if (!shapes.IsTuple(result) || element >= shapes.element_count(result)) continue;
          result = shapes.element(result, element);
        }
        if (shapes.Compatible(result, module.shape(id)) && differ(result, module.shape(id))) {
          return true;
        }
      }
    }
  }
  return false;
}

/// Do layouts disagree inside the module, so that only loose reading keeps the values?
bool LayoutsDisagree(const Module& before, const Module& after, EqualOptions options) {
  if (!AsyncLayoutsDisagree(after)) return false;
  options.strict_right = false;
  Result<EqualReport> loose = CompareModules(before, after, options);
  return loose && loose->equal;
}

/// The same for what the first pass of a pipeline hands on: later passes make it look consistent.
bool FirstPassDisagrees(const Module& before, const Row& row, const EqualOptions& options) {
  Result<Pipeline> pipeline = ParsePipeline(row.passes);
  pipeline->steps.erase(pipeline->steps.begin() + 1, pipeline->steps.end());
  Module after = before;
  return RunPipeline(after, *pipeline, {}) && LayoutsDisagree(before, after, options);
}

struct Prover {
  Settings settings;
  std::map<std::string, Counts> counts;
  std::map<std::string, int64_t> reasons;
  int64_t shown = 0;

  /// --break: the first added copy that changes the order becomes a bitcast, as a wrong pass would
  /// have it.
  static void BreakFirstCopy(const Module& before, Module& after) {
    for (CompId computation : after.computation_order()) {
      for (InstId id : after.computation(computation).instructions) {
        if (!ChangesOrder(after, id) || before.FindInstruction(after.name(id)).valid()) continue;
        after.set_opcode(id, Opcode::kBitcast);
        return;
      }
    }
  }

  /// A pass that needs more memory than there is has gone astray.
  Judgement Judge(const Module& before, const Row& row) const {
    try {
      return JudgeWithinLimits(before, row);
    } catch (const std::bad_alloc&) {
      return {Verdict::kDifferent, "takes more than the 4 GiB of memory that there are"};
    }
  }

  /// Runs the pipeline on a copy of the module and compares the values.
  Judgement JudgeWithinLimits(const Module& before, const Row& row) const {
    Result<Pipeline> pipeline = ParsePipeline(row.passes);
    if (!pipeline) return {Verdict::kDifferent, FormatError(pipeline.error())};
    Module after = before;
    std::vector<Diagnostic> warnings;
    RunOptions run;
    run.warnings = &warnings;
    Result<bool> changed = RunPipeline(after, *pipeline, run);
    if (!changed) return {Verdict::kRefused, "refused: " + Reason(changed.error())};
    if (settings.break_copies) BreakFirstCopy(before, after);
    if (!*changed && PrintModule(before) == PrintModule(after)) return {Verdict::kUnchanged};
    if (std::string_view(row.passes).ends_with("in_root")) UpdateResultLayout(after);
    EqualOptions options;
    options.seeds = settings.seeds;
    options.ulps = 0;
    options.strict_right = row.strict;
    options.max_work = static_cast<uint64_t>(settings.work);
    Result<EqualReport> report = CompareModules(before, after, options);
    if (report && report->equal) return {Verdict::kBitEqual};
    if (SaysThatValuesChange(warnings)) return {Verdict::kWarned};
    if (row.strict && (LayoutsDisagree(before, after, options) ||
                       (pipeline->steps.size() > 1 && FirstPassDisagrees(before, row, options)))) {
      return {Verdict::kDisagree};
    }
    const std::string printed = settings.print ? PrintModule(after) : "";
    if (!report) {
      // What runs before the pass must run behind it.
      EqualOptions alone = options;
      alone.strict_right = false;
      const bool too_long = report.error().diagnostics[0].id == DiagId::kEvalWork;
      if (!too_long && CompareModules(before, before, alone)) {
        return {Verdict::kDifferent,
                "cannot run after the pass: " + FormatError(report.error()) + printed};
      }
      const std::string message = report.error().diagnostics[0].message;
      return {Verdict::kNotRun,
              "not run: " + message.substr(std::min(message.find('('), message.size()))};
    }
    report->stand_ins.clear();
    return {Verdict::kDifferent, EqualText(*report) + printed};
  }

  /// The smallest part of a module that the pipeline still gives other values.
  std::string Reduced(const Module& before, const Row& row) const {
    PrintOptions all = PrintOptions::Default();
    all.large_constants = true;
    ReduceOptions options;
    options.keep = [&](Module& candidate, const std::string& /*text*/, unsigned /*thread*/) {
      return Judge(candidate, row).verdict == Verdict::kDifferent;
    };
    Result<ReducedModule> reduced = ReduceModule(PrintModule(before, all), options);
    return reduced ? reduced->text : FormatError(reduced.error());
  }

  void Prove(const std::string& file, const Module& before, const Row& row) {
    const Judgement judgement = Judge(before, row);
    ++counts[row.passes].of[static_cast<size_t>(judgement.verdict)];
    if (judgement.verdict == Verdict::kRefused || judgement.verdict == Verdict::kNotRun) {
      ++reasons[judgement.detail];
    }
    if (judgement.verdict != Verdict::kDifferent || shown++ >= settings.show) return;
    std::printf("%s: %s\n%s\nreduced:\n%s\n", file.c_str(), row.passes, judgement.detail.c_str(),
                Reduced(before, row).c_str());
  }

  /// Copies that change the order of an array whose elements can be told apart.
  static bool ChangesOrder(const Module& module, InstId id) {
    const ShapePool& shapes = module.shapes();
    if (module.opcode(id) != Opcode::kCopy || !shapes.IsArray(module.shape(id))) return false;
    const ShapeId from = module.shape(module.operand(id, 0));
    if (!shapes.layout(from).valid() || !shapes.layout(module.shape(id)).valid()) return false;
    const std::span<const int64_t> sizes = shapes.sizes(from);
    const auto large = [&](ShapeId shape) {
      std::vector<int64_t> out;
      for (int64_t d : shapes.minor_to_major(shapes.layout(shape))) {
        if (sizes[static_cast<size_t>(d)] != 1) out.push_back(d);
      }
      return out;
    };
    return shapes.ElementCount(from) > 0 && large(from) != large(module.shape(id));
  }

  /// Every value that one instruction takes in a run, leaf by leaf.
  std::vector<HostLeaves> ValuesOf(const Module& module, InstId wanted) const {
    std::vector<HostLeaves> values;
    EvalOptions options;
    options.strict_layouts = true;
    options.max_work = static_cast<uint64_t>(settings.work);
    options.observer = [&](InstId id, uint32_t, const ObservedValue& value) {
      if (id == wanted) values.push_back(value.Leaves());
    };
    for (int64_t seed = 0; seed < settings.seeds; ++seed) {
      const HostLeaves inputs =
          MakeInputs(module, seed == 0 ? InputRule::kDistinct : InputRule::kExtreme,
                     static_cast<uint64_t>(seed));
      (void)Evaluate(module, {&inputs, 1}, options);
    }
    return values;
  }

  void Mutate(const std::string& file, const Module& before) {
    Module after = before;
    Result<Pipeline> pipeline = ParsePipeline("layout-assignment");
    if (!pipeline || !RunPipeline(after, *pipeline)) return;
    EqualOptions options;
    options.seeds = settings.seeds;
    options.ulps = 0;
    options.strict_right = true;
    options.max_work = static_cast<uint64_t>(settings.work);
    const Result<EqualReport> sound = CompareModules(before, after, options);
    if (!sound || !sound->equal) return;
    for (CompId computation : after.computation_order()) {
      for (InstId id : after.computation(computation).instructions) {
        // Copies that were there before may be dead or absorb anything; only added ones count.
        if (!ChangesOrder(after, id) || before.FindInstruction(after.name(id)).valid()) continue;
        Module wrong = after;
        wrong.set_opcode(id, Opcode::kBitcast);
        // Never computed, or all elements alike.
        if (ValuesOf(after, id) == ValuesOf(wrong, id)) {
          ++without_effect;
          continue;
        }
        const Result<EqualReport> report = CompareModules(before, wrong, options);
        ++mutants;
        if (report && report->equal) {
          if (shown++ < settings.show) {
            std::printf("%s: %s is not noticed as a bitcast\n", file.c_str(),
                        std::string(after.name(id)).c_str());
          }
        } else {
          ++noticed;
        }
      }
    }
  }

  void ProveFile(const std::string& file) {
    Result<std::string> text = ReadFile(file);
    if (!text) return;
    Result<Module> module = ReadText(std::move(*text));
    if (!module || !VerifyModule(*module)) {
      ++not_valid;
      return;
    }
    ++modules;
    if (settings.mutate) return Mutate(file, *module);
    for (const Row& row : kRows) {
      if (settings.only.empty() || settings.only == row.passes) Prove(file, *module, row);
    }
  }

  int Report() const {
    if (settings.mutate) {
      std::printf(
          "%ld modules, %ld copies left out one at a time, %ld noticed; %ld more change no "
          "value\n",
          modules, mutants, noticed, without_effect);
      return mutants > 0 && noticed * 10 >= mutants * 8 ? 0 : 1;
    }
    std::printf("%-90s %9s %9s %7s %8s %7s %7s %9s\n", "pipeline", "bit-equal", "unchanged",
                "warned", "disagree", "refused", "not run", "DIFFERENT");
    int64_t proven = 0, different = 0;
    for (const Row& row : kRows) {
      const auto at = counts.find(row.passes);
      if (at == counts.end()) continue;
      std::printf("%-90s", row.passes);
      constexpr int kWidths[kVerdicts] = {9, 9, 7, 8, 7, 7, 9};
      for (size_t i = 0; i < kVerdicts; ++i) std::printf(" %*ld", kWidths[i], at->second.of[i]);
      std::printf("\n");
      proven += at->second.of[static_cast<size_t>(Verdict::kBitEqual)];
      different += at->second.of[static_cast<size_t>(Verdict::kDifferent)];
    }
    for (const auto& [reason, count] : reasons) std::printf("  %6ld %s\n", count, reason.c_str());
    if (not_valid > 0) std::printf("%8ld files hold no valid module\n", not_valid);
    std::printf("%ld modules, %ld changes proven bit-equal, %ld different\n", modules, proven,
                different);
    return different == 0 && proven > 0 ? 0 : 1;
  }

  int64_t modules = 0, not_valid = 0, mutants = 0, noticed = 0, without_effect = 0;
};

int Main(int argc, char** argv) {
  SetMemoryLimit("4G");
  Prover prover;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&]() { return i + 1 < argc ? std::atol(argv[++i]) : 0; };
    if (word == "--seeds") {
      prover.settings.seeds = number();
    } else if (word == "--work") {
      prover.settings.work = number();
    } else if (word == "--limit") {
      prover.settings.limit = number();
    } else if (word == "--show") {
      prover.settings.show = number();
    } else if (word == "--mutate") {
      prover.settings.mutate = true;
    } else if (word == "--break") {
      prover.settings.break_copies = true;
    } else if (word == "--print") {
      prover.settings.print = true;
    } else if (word == "--only") {
      if (i + 1 < argc) prover.settings.only = argv[++i];
    } else {
      AddPath(word, &prover.settings.files);
    }
  }
  for (const std::string& file : prover.settings.files) {
    if (prover.modules >= prover.settings.limit) break;
    prover.ProveFile(file);
  }
  return prover.Report();
}

}  // namespace
}  // namespace hlokit

int main(int argc, char** argv) { return hlokit::Main(argc, argv); }
