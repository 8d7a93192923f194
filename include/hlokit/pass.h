#ifndef HLOKIT_PASS_H_
#define HLOKIT_PASS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"
#include "hlokit/rewriter.h"

namespace hlokit {

// ---- options of a pass ----

enum class OptionType : uint8_t { kBool, kInt, kText, kChoice };

/// One option of a pass, as in `--passes='all-reduce-combiner{key=stock count=2}'`.
struct OptionSpec {
  std::string_view name;
  OptionType type;
  std::string_view fallback;  ///< value when the option is not given, as text
  std::string_view help;
  std::string_view choices = "";  ///< kChoice: "neuron|stock"
};

/// The checked values of the options of one pass, one per OptionSpec.
class PassOptions {
 public:
  PassOptions() = default;
  /// All options at their fallback.
  explicit PassOptions(std::span<const OptionSpec> specs);
  /// Sets one option. Fails with kUsage (P003, P004) on an unknown name or a value of the wrong
  /// type.
  Status Set(std::string_view pass, std::string_view name, std::string_view value);
  bool Bool(std::string_view name) const { return Number(name) != 0; }
  int64_t Int(std::string_view name) const { return Number(name); }
  const std::string& Text(std::string_view name) const { return At(name).text; }
  bool IsSet(std::string_view name) const { return At(name).given; }
  /// "{key=stock count=2}" of what was given; empty when nothing was.
  std::string ToText() const;

 private:
  struct Value {
    const OptionSpec* spec;
    std::string text;
    int64_t number = 0;
    bool given = false;
  };
  const Value& At(std::string_view name) const;
  int64_t Number(std::string_view name) const { return At(name).number; }
  std::vector<Value> values_;
};

// ---- a pass ----

/// What a pass gets besides the module.
struct PassContext {
  PassOptions options;
  std::vector<Diagnostic>* warnings = nullptr;  ///< null: nobody listens
  EditLog::Group* log = nullptr;                ///< null: nobody asks who changed what
  void Warn(DiagId id, std::string message, std::string help = "") const;
};

/// One transformation: a module in, changed or not, or an error. A fresh object per run.
class Pass {
 public:
  virtual ~Pass() = default;
  /// The key of the registry, the name in `--passes`, and (dashes as underscores) the file name.
  virtual std::string_view name() const = 0;
  /// On an error the module may be partly edited: drop it.
  virtual Result<bool> Run(Module& module, PassContext& context) = 0;
};

/// What a pass may rely on or promises; checked before and after it where that is cheap.
enum class Invariant : uint8_t {
  kEntryLayout,    ///< the module has an entry_computation_layout
  kLayoutsSet,     ///< every array shape of an instruction outside fusions has a layout
  kFlatCallGraph,  ///< every computation called from control flow has one call site
};

/// The static description of a pass; one per file in src/passes.
struct PassInfo {
  std::unique_ptr<Pass> (*make)();
  std::string_view summary;  ///< one line, for --list-passes
  std::string_view help;     ///< a few sentences, for --help-pass
  std::span<const OptionSpec> options;
  std::span<const Invariant> requires_invariants;
  std::span<const Invariant> ensures_invariants;
  /// True when "changed" leaves out some edits by design (io-layout-normalization): the runner then
  /// treats every run as a change.
  bool reports_partially = false;
};

// ---- registry ----

/// A pass under its name. Pointers stay valid for the life of the program.
struct RegisteredPass {
  std::string name;
  const PassInfo* info;
};
/// All passes, sorted by name.
std::span<const RegisteredPass> RegisteredPasses();
const RegisteredPass* FindPass(std::string_view name);

/// A pipeline under a name, usable wherever a pass is.
struct PipelineInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view passes;  ///< as in --passes
};
std::span<const PipelineInfo> RegisteredPipelines();
const PipelineInfo* FindPipeline(std::string_view name);

/// The 112 names that the Neuron tool registers (neuron-passes.md section 1), in registration
/// order.
struct NeuronPassName {
  std::string_view name;
  bool is_expander;
};
std::span<const NeuronPassName> NeuronPassNames();
/// 1 … 112, or 0.
int NeuronPassNumber(std::string_view name);
/// The nearest of `names` by edit distance, or nothing when none is near.
std::string NearestName(std::string_view wanted, std::span<const std::string_view> names);
/// NearestName among passes and pipelines, the known ones of Neuron included.
std::string NearestPassName(std::string_view wanted);

// ---- pipelines ----

struct PipelineStep {
  const RegisteredPass* pass;
  PassOptions options;
  std::string
      pipeline;  ///< the registered pipeline that the step belongs to; empty = the outer one
};
struct Pipeline {
  std::string name = "transforms_pipeline";
  std::vector<PipelineStep> steps;
  /// As in --passes.
  std::string ToText() const;
};
/// "a,b{opt=1 x=y}": names are split at commas without trimming (hlo-opt-cli.md section 1.4), all
/// names are looked up before anything runs. A value may be quoted, and holds blanks and commas
/// inside brackets. Fails with kUsage (P001 … P004).
Result<Pipeline> ParsePipeline(std::string_view text);

/// hlo-opt-cli.md section 6, neuron-passes.md section 2. Exact names.
struct PassFilter {
  bool disable_all = false;
  std::vector<std::string> disable;
  std::vector<std::string> only;  ///< empty = no whitelist
};
/// May this step of the pipeline run? `disable` wins over `only`; a pipeline that is named runs or
/// skips all its own steps; a pipeline that `only` does not name is dropped whatever it holds.
bool IsEnabled(const PassFilter& filter, const Pipeline& pipeline, const PipelineStep& step);
/// One warning per name that no pass or pipeline has, with the nearest name.
std::vector<Diagnostic> CheckFilterNames(const PassFilter& filter);

/// Watches a run: dumps, prints, timing, statistics.
class PassObserver {
 public:
  virtual ~PassObserver() = default;
  /// `steps` are the ones that will run.
  virtual Status Start(const Module&, const Pipeline&, std::span<const PipelineStep* const> steps) {
    (void)steps;
    return {};
  }
  virtual Status Before(const Module&, const PipelineStep&) { return {}; }
  /// `next` is null after the last step.
  virtual Status After(const Module&, const PipelineStep&, const PipelineStep* next, bool changed) {
    (void)next, (void)changed;
    return {};
  }
  virtual Status End(const Module&, bool changed) {
    (void)changed;
    return {};
  }
  /// The pass failed; `before` is the module as it was in front of it, when it was kept.
  virtual void Failed(const Module* before, const PipelineStep&, const Error&) { (void)before; }
};

struct RunOptions {
  PassFilter filter;
  /// Run the verifier at the start and after each pass that changed something.
  bool verify_each = false;
  /// Keep a copy of the module in front of each pass, for PassObserver::Failed.
  bool keep_before = false;
  /// Compare the printed module before and after each pass with what the pass says: a pass that
  /// changes silently, or claims a change that is none, is an error.
  bool check_silent_change = false;
  bool check_noop_change = false;
  std::vector<PassObserver*> observers;
  std::vector<Diagnostic>* warnings = nullptr;
  EditLog* log = nullptr;
};

/// Runs the enabled steps in order and returns whether one changed the module. The first error
/// stops the run (there is no way back: keep a copy); its text ends with "Failed after PASS" when
/// the verifier found the problem.
Result<bool> RunPipeline(Module& module, const Pipeline& pipeline, const RunOptions& options = {});

/// Checks one invariant. Fails with kUnsupported (P007).
Status CheckInvariant(const Module& module, Invariant invariant);
std::string_view InvariantText(Invariant invariant);

/// What the verifier says (layout-insensitive, mixed precision allowed).
Status VerifyForPasses(const Module& module);

}  // namespace hlokit

#endif  // HLOKIT_PASS_H_
