// Do two modules compute the same, and if not, where do they part?
#include "hlokit/equal.h"

#include <algorithm>
#include <unordered_map>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/eval/value.h"

namespace hlokit {
namespace {

/// Opcodes that move or choose elements and never round.
bool NeverRounds(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAddDependency:
    case Opcode::kAfterAll:
    case Opcode::kAllGather:
    case Opcode::kAllGatherDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllToAll:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kBroadcast:
    case Opcode::kCall:
    case Opcode::kClamp:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kConcatenate:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kCopy:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
    case Opcode::kCustomCall:
    case Opcode::kDomain:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kFusion:
    case Opcode::kGather:
    case Opcode::kGetTupleElement:
    case Opcode::kInfeed:
    case Opcode::kIota:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kNegate:
    case Opcode::kOptimizationBarrier:
    case Opcode::kPad:
    case Opcode::kParameter:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSelect:
    case Opcode::kSend:
    case Opcode::kSlice:
    case Opcode::kSort:
    case Opcode::kTranspose:
    case Opcode::kTuple:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

/// Does some instruction round floats?
bool ComputesFloats(const Module& module) {
  for (CompId computation : module.computation_order()) {
    for (InstId id : module.computation(computation).instructions) {
      if (NeverRounds(module.opcode(id))) continue;
      for (ShapeId leaf : module.shapes().Subshapes(module.shape(id))) {
        const ElementKind kind = Info(module.shapes().type(leaf)).kind;
        if (kind == ElementKind::kFloat || kind == ElementKind::kComplex) return true;
      }
    }
  }
  return false;
}

std::unexpected<Error> NotComparable(std::string message) {
  return MakeError(ExitCode::kUsage, DiagId::kNotComparable, std::move(message),
                   "both modules need the same parameters and results, leaf by leaf; layouts may "
                   "differ");
}

/// Leaves of a shape as text without layouts.
std::vector<std::string> LeafTexts(const ShapePool& shapes, std::span<const ShapeId> leaves) {
  std::vector<std::string> out;
  for (ShapeId leaf : leaves) out.push_back(shapes.Text(leaf, false));
  return out;
}

std::vector<ShapeId> ResultLeaves(const Module& module) {
  std::vector<ShapeId> leaves;
  const ShapeId shape = module.shape(module.computation(module.entry()).root);
  for (ShapeId leaf : module.shapes().Subshapes(shape)) {
    if (!module.shapes().IsTuple(leaf)) leaves.push_back(leaf);
  }
  return leaves;
}

Status CheckComparable(const Module& left, const Module& right) {
  const auto check = [](std::string_view what, const std::vector<std::string>& a,
                        const std::vector<std::string>& b) -> Status {
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
      return NotComparable(fmt::format("{} leaf {}: {} here, {} there", what, i,
                                       i < a.size() ? a[i] : "none", i < b.size() ? b[i] : "none"));
    }
    return {};
  };
  TRY(check("parameter", LeafTexts(left.shapes(), EntryLeaves(left)),
            LeafTexts(right.shapes(), EntryLeaves(right))));
  return check("result", LeafTexts(left.shapes(), ResultLeaves(left)),
               LeafTexts(right.shapes(), ResultLeaves(right)));
}

InputRule RuleOfRun(int64_t run) {
  return run == 0 ? InputRule::kDistinct : run == 1 ? InputRule::kExtreme : InputRule::kRandom;
}

/// Values that are kept while looking for the place where modules part.
constexpr size_t kMaxTracedBytes = size_t{1} << 28;

/// What one module computed, execution by execution, on one device.
struct Trace {
  struct Entry {
    InstId id;
    uint32_t execution;  // of this instruction
    HostLeaves value;
  };
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::vector<size_t>> by_name;
  size_t bytes = 0;
};

EvalOptions RunOptionsOf(const EqualOptions& options, int64_t devices, bool strict) {
  EvalOptions run;
  run.devices = devices;
  run.max_bytes = options.max_bytes;
  run.max_work = options.max_work;
  run.strict_layouts = strict;
  return run;
}

Result<Trace> TraceRun(const Module& module, std::span<const HostLeaves> inputs,
                       EvalOptions options, uint32_t device) {
  Trace trace;
  options.observer = [&](InstId id, uint32_t on, const ObservedValue& value) {
    if (on != device || trace.bytes > kMaxTracedBytes) return;
    std::vector<size_t>& same = trace.by_name[std::string(module.name(id))];
    Trace::Entry entry{id, static_cast<uint32_t>(same.size()), value.Leaves()};
    for (const HostArray& leaf : entry.value) trace.bytes += leaf.bytes.size();
    same.push_back(trace.entries.size());
    trace.entries.push_back(std::move(entry));
  };
  ASSIGN_OR_RETURN(const std::vector<HostLeaves> results, Evaluate(module, inputs, options));
  (void)results;
  return trace;
}

bool SameSizes(const HostLeaves& a, const HostLeaves& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type || a[i].sizes != b[i].sizes) return false;
  }
  return true;
}

/// The entry of the left trace that stands for an entry of the right one: the same name and
/// execution, else the same position when opcode and sizes fit.
const Trace::Entry* Counterpart(const Module& left_module, const Trace& left,
                                const Module& right_module, const Trace& right, size_t at,
                                std::string* matched_by) {
  const Trace::Entry& entry = right.entries[at];
  const auto named = left.by_name.find(std::string(right_module.name(entry.id)));
  if (named != left.by_name.end() && entry.execution < named->second.size()) {
    const Trace::Entry& found = left.entries[named->second[entry.execution]];
    if (left_module.opcode(found.id) == right_module.opcode(entry.id) &&
        SameSizes(found.value, entry.value)) {
      *matched_by = "name";
      return &found;
    }
    return nullptr;
  }
  if (at < left.entries.size() && left.entries.size() == right.entries.size() &&
      left_module.opcode(left.entries[at].id) == right_module.opcode(entry.id) &&
      SameSizes(left.entries[at].value, entry.value)) {
    *matched_by = "position";
    return &left.entries[at];
  }
  return nullptr;
}

void FindParting(const Module& left_module, const Trace& left, const Module& right_module,
                 const Trace& right, double ulps, bool computes, EqualMismatch* mismatch) {
  for (size_t i = 0; i < right.entries.size(); ++i) {
    std::string matched_by;
    const Trace::Entry* counterpart =
        Counterpart(left_module, left, right_module, right, i, &matched_by);
    if (counterpart == nullptr) continue;
    const Difference difference =
        FirstDifference(counterpart->value, right.entries[i].value, ulps, computes);
    if (difference.leaf < 0) continue;
    mismatch->left_instruction = left_module.name(counterpart->id);
    mismatch->right_instruction = right_module.name(right.entries[i].id);
    mismatch->matched_by = matched_by;
    mismatch->parting = difference;
    return;
  }
}

std::vector<int64_t> MultiIndex(std::span<const int64_t> sizes, int64_t element) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = element % std::max<int64_t>(sizes[d], 1);
    element /= std::max<int64_t>(sizes[d], 1);
  }
  return index;
}

}  // namespace

std::string_view InputRuleName(InputRule rule) {
  switch (rule) {
    case InputRule::kGolden:
      return "golden-rule";
    case InputRule::kDistinct:
      return "distinct";
    case InputRule::kExtreme:
      return "extreme";
    default:
      return "random";
  }
}

Result<EqualReport> CompareModules(const Module& left, const Module& right,
                                   const EqualOptions& options) {
  TRY(CheckComparable(left, right));
  const int64_t devices =
      options.devices > 0 ? options.devices : std::max(DeviceCount(left), DeviceCount(right));
  // What happens to the payload of a NaN in arithmetic is nobody's promise.
  const bool computes = ComputesFloats(left) || ComputesFloats(right);
  const double ulps = computes ? options.ulps : 0;
  EvalOptions left_run = RunOptionsOf(options, devices, options.strict_left);
  EvalOptions right_run = RunOptionsOf(options, devices, options.strict_right);
  EqualReport report;
  for (int64_t run = 0; run < options.seeds; ++run) {
    const InputRule rule = RuleOfRun(run);
    const uint64_t seed = options.first_seed + static_cast<uint64_t>(run);
    std::vector<HostLeaves> inputs;
    for (int64_t device = 0; device < devices; ++device) {
      inputs.push_back(MakeInputs(left, rule, seed + static_cast<uint64_t>(device) * 0x10001u));
    }
    std::vector<uint64_t> left_effects, right_effects;
    left_run.effects = &left_effects;
    right_run.effects = &right_effects;
    left_run.stand_ins = run == 0 ? &report.stand_ins : nullptr;
    ASSIGN_OR_RETURN(const std::vector<HostLeaves> a, Evaluate(left, inputs, left_run));
    ASSIGN_OR_RETURN(const std::vector<HostLeaves> b, Evaluate(right, inputs, right_run));
    ++report.runs;
    left_run.stand_ins = nullptr;
    left_run.effects = right_run.effects = nullptr;
    EqualMismatch mismatch;
    mismatch.rule = rule;
    mismatch.seed = seed;
    bool differs = false;
    for (size_t device = 0; device < a.size() && !differs; ++device) {
      if (FirstDifference(a[device], b[device], 0, computes).leaf < 0) continue;
      report.bit_equal = false;
      mismatch.device = static_cast<uint32_t>(device);
      mismatch.difference = FirstDifference(a[device], b[device], ulps, computes);
      differs = mismatch.difference.leaf >= 0;
      if (!differs || mismatch.difference.element < 0) continue;
      mismatch.element = MultiIndex(a[device][static_cast<size_t>(mismatch.difference.leaf)].sizes,
                                    mismatch.difference.element);
    }
    // Independent outfeeds may run in any order. Where floats are rounded their hashes say nothing.
    std::sort(left_effects.begin(), left_effects.end());
    std::sort(right_effects.begin(), right_effects.end());
    if (left_effects != right_effects) {
      report.bit_equal = false;
      // A hash cannot tell that two NaNs are as good as equal.
      differs = differs || (ulps == 0 && (!computes || rule != InputRule::kExtreme));
    }
    if (!differs) continue;
    report.equal = false;
    ASSIGN_OR_RETURN(const Trace before, TraceRun(left, inputs, left_run, mismatch.device));
    ASSIGN_OR_RETURN(const Trace after, TraceRun(right, inputs, right_run, mismatch.device));
    FindParting(left, before, right, after, ulps, computes, &mismatch);
    report.mismatches.push_back(std::move(mismatch));
    return report;
  }
  return report;
}

std::string EqualText(const EqualReport& report) {
  std::string out;
  for (const std::string& note : report.stand_ins) {
    out += fmt::format("note: made-up values: {}\n", note);
  }
  if (report.equal) {
    out += fmt::format("{} on {} set{} of inputs\n",
                       report.bit_equal ? "bit-equal" : "equal within the tolerance", report.runs,
                       report.runs == 1 ? "" : "s");
    return out;
  }
  for (const EqualMismatch& m : report.mismatches) {
    out += m.difference.leaf < 0
               ? std::string("different: what outfeed and send hand out\n")
               : fmt::format("different: leaf {} of the result, element [{}]: {} and {}\n",
                             m.difference.leaf, fmt::join(m.element, ","), m.difference.left,
                             m.difference.right);
    out +=
        fmt::format("  inputs: {}, seed {}, device {}\n", InputRuleName(m.rule), m.seed, m.device);
    if (m.right_instruction.empty()) {
      out += "  no instruction could be matched whose values part\n";
    } else {
      out += fmt::format("  values part at {} (matched by {}{}): element {}: {} and {}\n",
                         m.right_instruction, m.matched_by,
                         m.left_instruction == m.right_instruction
                             ? ""
                             : fmt::format(" with {}", m.left_instruction),
                         m.parting.element, m.parting.left, m.parting.right);
    }
  }
  return out;
}

}  // namespace hlokit
