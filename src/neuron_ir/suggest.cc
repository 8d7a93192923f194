// Which transposes of entry parameters, made once on the host, would save work in each step?
#include "src/neuron_ir/suggest.h"

#include <algorithm>
#include <map>
#include <optional>

#include "fmt/format.h"
#include "hlokit/explain.h"
#include "hlokit/layout_assignment.h"
#include "src/neuron_ir/entry_inputs.h"

namespace hlokit {
namespace {

struct Run {
  ComputationLayout layout;  ///< of the entry, as it came out
  int64_t bytes = 0;
  uint64_t copies = 0;
  std::map<size_t, int64_t> bytes_by_parameter;  ///< copies that start at its entry layout
};

class Suggester {
 public:
  Suggester(const Module& module, const SuggestOptions& options, const EntryInputs& inputs)
      : module_(module),
        options_(options),
        inputs_(inputs),
        entry_(module.computation(module.entry())),
        given_(*module.config().entry_computation_layout) {}

  Result<Suggestions> Find() {
    for (size_t number = 0; number < entry_.parameters.size(); ++number) {
      if (Wanted(number)) LookAtTransposes(number);
    }
    ASSIGN_OR_RETURN(base_, Assign(given_));
    TRY(LookAtCopies());
    result_.copy_bytes_before = base_.bytes;
    TRY(MeasureTogether());
    for (auto& [number, suggestion] : best_) result_.found.push_back(std::move(suggestion));
    std::stable_sort(
        result_.found.begin(), result_.found.end(),
        [](const Suggestion& a, const Suggestion& b) { return a.bytes_saved > b.bytes_saved; });
    return std::move(result_);
  }

 private:
  /// An array of fixed size that may be moved.
  bool Wanted(size_t number) const {
    const ShapeId shape = module_.shape(entry_.parameters[number]);
    if (!module_.shapes().IsArray(shape) || module_.shapes()[shape].has_dynamic ||
        module_.shapes().rank(shape) == 0) {
      return false;
    }
    return options_.weights.empty() || std::find(options_.weights.begin(), options_.weights.end(),
                                                 number) != options_.weights.end();
  }

  Result<Run> Assign(const ComputationLayout& layout) const {
    Module copy = module_;
    LayoutTrace trace;
    LayoutAssignmentOptions options{.trace = &trace, .entry_layout = layout};
    ASSIGN_OR_RETURN(const LayoutAssignmentReport report, AssignLayouts(copy, options));
    const Explanation explanation = Explain(copy, report, trace, 0);
    Run run{.bytes = explanation.logical_bytes, .copies = explanation.copies.size()};
    for (const Cause& cause : explanation.causes) {
      for (const Origin* origin : {&cause.winning, &cause.losing}) {
        if (origin->kind == OriginKind::kEntryParameter && origin->parameter >= 0)
          run.bytes_by_parameter[static_cast<size_t>(origin->parameter)] += cause.logical_bytes;
      }
    }
    run.layout = *copy.config().entry_computation_layout;
    return run;
  }

  void Keep(Suggestion suggestion) {
    const auto known = best_.find(suggestion.parameter);
    if (known != best_.end() && known->second.bytes_saved >= suggestion.bytes_saved) return;
    best_.insert_or_assign(suggestion.parameter, std::move(suggestion));
  }

  void Note(size_t number, std::string text) {
    result_.notes.push_back(fmt::format("%{}: {}", inputs_.names()[number], text));
  }

  /// A parameter that is only read through one transpose, perhaps behind a reshape.
  void LookAtTransposes(size_t number) {
    const InstId parameter = entry_.parameters[number];
    Suggestion suggestion{.parameter = number};
    bool first = true;
    for (InstId user : module_.users(parameter)) {
      std::vector<InstId> moves = {user};
      InstId folded = parameter;
      if (module_.opcode(user) == Opcode::kReshape) {
        folded = user;
        moves.assign(module_.users(user).begin(), module_.users(user).end());
        if (module_.IsRoot(user)) moves.push_back(user);
      }
      for (InstId move : moves) {
        if (module_.opcode(move) != Opcode::kTranspose) {
          if (!first) Note(number, "also used without a transpose, so moving it would not pay");
          return;
        }
        if (!Same(folded, move, first, suggestion.spec)) {
          Note(number, "transposed in different ways: no single transpose replaces them");
          return;
        }
        first = false;
        suggestion.bytes_saved += module_.shapes().LogicalBytes(module_.shape(move));
        ++suggestion.ops_saved;
        suggestion.reason = fmt::format("only used through %{} ({})", module_.name(move),
                                        OpcodeText(module_.opcode(move)));
      }
    }
    if (first || module_.IsRoot(parameter)) return;
    suggestion.spec.input_name = inputs_.names()[number];
    Keep(std::move(suggestion));
  }

  /// Takes over the transpose when it is the first one, compares else.
  bool Same(InstId folded, InstId move, bool first, IoTranspose& spec) const {
    const std::span<const int64_t> sizes = module_.shapes().sizes(module_.shape(folded));
    const std::span<const int64_t> axes = module_.dimensions(move);
    if (first) {
      spec.reshape.assign(sizes.begin(), sizes.end());
      spec.transpose.assign(axes.begin(), axes.end());
      return true;
    }
    return std::equal(sizes.begin(), sizes.end(), spec.reshape.begin(), spec.reshape.end()) &&
           std::equal(axes.begin(), axes.end(), spec.transpose.begin(), spec.transpose.end());
  }

  /// Frees each parameter that copies start at, to see which layout it takes, and measures what is
  /// left when it arrives in that one.
  Status LookAtCopies() {
    std::vector<std::pair<int64_t, size_t>> order;
    for (const auto& [number, bytes] : base_.bytes_by_parameter) {
      if (number < entry_.parameters.size() && Wanted(number)) order.emplace_back(-bytes, number);
    }
    std::sort(order.begin(), order.end());
    if (order.size() > options_.most_runs) {
      result_.notes.push_back(fmt::format("{} parameters with fewer bytes were not looked at",
                                          order.size() - options_.most_runs));
      order.resize(options_.most_runs);
    }
    for (const auto& [bytes, number] : order) TRY(TryFree(number));
    return {};
  }

  Status TryFree(size_t number) {
    ShapePool& shapes = module_.mutable_shapes();
    ComputationLayout layout = given_;
    layout.parameters[number] = shapes.ClearLayouts(layout.parameters[number]);
    ASSIGN_OR_RETURN(const Run freed, Assign(layout));
    const LayoutId wanted = shapes.layout(freed.layout.parameters[number]);
    const uint32_t rank = shapes.rank(layout.parameters[number]);
    if (!wanted.valid() || shapes.SameOrder(wanted, shapes.DescendingLayout(rank))) {
      Note(number, "would be best in row-major order: no transpose on the host is needed for that");
      return {};
    }
    layout.parameters[number] = shapes.WithLayout(given_.parameters[number], wanted);
    ASSIGN_OR_RETURN(const Run moved, Assign(layout));
    if (moved.bytes >= base_.bytes) {
      Note(number,
           fmt::format("in {} the copies would move as much as before", shapes.LayoutText(wanted)));
      return {};
    }
    Suggestion suggestion{
        .parameter = number,
        .bytes_saved = base_.bytes - moved.bytes,
        .ops_saved = base_.copies > moved.copies ? base_.copies - moved.copies : 0,
        .from_copies = true};
    suggestion.spec.input_name = inputs_.names()[number];
    const std::span<const int64_t> sizes = shapes.sizes(given_.parameters[number]);
    suggestion.spec.reshape.assign(sizes.begin(), sizes.end());
    const std::span<const int64_t> order = shapes.minor_to_major(wanted);
    suggestion.spec.transpose.assign(order.rbegin(), order.rend());
    suggestion.reason = fmt::format("copies start at its entry layout; it is wanted as {}",
                                    shapes.LayoutText(wanted));
    wanted_[number] = layout.parameters[number];
    Keep(std::move(suggestion));
    return {};
  }

  /// Suggestions may get in each other's way: what is left when all are followed?
  Status MeasureTogether() {
    ComputationLayout layout = given_;
    for (const auto& [number, suggestion] : best_) {
      if (suggestion.from_copies) layout.parameters[number] = wanted_[number];
    }
    ASSIGN_OR_RETURN(const Run together, Assign(layout));
    result_.copy_bytes_after = together.bytes;
    return {};
  }

  const Module& module_;
  const SuggestOptions& options_;
  const EntryInputs& inputs_;
  const ComputationData& entry_;
  const ComputationLayout given_;
  Run base_;
  std::map<size_t, Suggestion> best_;
  std::map<size_t, ShapeId> wanted_;
  Suggestions result_;
};

}  // namespace

Result<Suggestions> SuggestIoTransposes(const Module& module, const SuggestOptions& options) {
  ASSIGN_OR_RETURN(const EntryInputs inputs, EntryInputs::Of(module));
  for (size_t number : options.weights) {
    if (number < inputs.names().size()) continue;
    return MakeError(
        ExitCode::kUsage, DiagId::kUsageError,
        fmt::format("--weights {}: the entry has {} parameters", number, inputs.names().size()),
        "parameters count from 0");
  }
  if (!module.config().entry_computation_layout.has_value()) {
    return MakeError(ExitCode::kUnsupported, DiagId::kBadInputValue,
                     "the module has no entry computation layout");
  }
  return Suggester(module, options, inputs).Find();
}

}  // namespace hlokit
