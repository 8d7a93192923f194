// How are the differences of two modules shown? As text: what is alike in one row of a table, the
// most bytes first. As JSON: every single difference.
#include "src/cli/diff_output.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string OpcodeName(const Module& module, InstId id) {
  Opcode opcode = module.opcode(id);
  return std::string(opcode == Opcode::kUnknown ? module.TextAttr(id, AttrKind::kUnknownOpcode)
                                                : OpcodeText(opcode));
}

std::string LayoutName(const ShapePool& shapes, LayoutId layout) {
  return layout.valid() ? shapes.LayoutText(layout) : "unset";
}

std::string Count(size_t count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string Clip(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string IndexName(const ShapePool& shapes, ShapeId shape, uint32_t leaf) {
  if (leaf == 0) return "";
  return fmt::format(" at {{{}}}", fmt::join(shapes.IndexOf(shape, leaf), ","));
}

/// "%a", or "%a = %b" when the names differ.
std::string BothNames(const Module& before, InstId a, const Module& after, InstId b) {
  std::string_view x = before.name(a), y = after.name(b);
  return x == y ? fmt::format("%{}", x) : fmt::format("%{} = %{}", x, y);
}

/// One line of a table that stands for several differences of the same kind.
struct Group {
  size_t count = 0;
  int64_t bytes = 0;
  std::vector<std::string> columns;
  std::string first;

  void Add(int64_t more) {
    ++count;
    if (__builtin_add_overflow(bytes, more, &bytes)) bytes = INT64_MAX;
  }
};

/// Groups in the order of their first member.
class Groups {
 public:
  /// True when the group is new; then its example is wanted.
  bool Add(std::vector<std::string> columns, int64_t bytes) {
    auto [at, fresh] = places_.try_emplace(columns, groups_.size());
    if (fresh) groups_.push_back({.columns = std::move(columns)});
    last_ = at->second;
    groups_[last_].Add(bytes);
    return fresh;
  }
  void SetExample(std::string example) { groups_[last_].first = std::move(example); }
  bool empty() const { return groups_.empty(); }

  /// Most bytes first, then most members.
  std::string Text(const std::vector<std::string>& head, std::string_view align, bool bytes,
                   size_t most) {
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return std::tie(a.bytes, a.count) > std::tie(b.bytes, b.count);
    });
    Rows rows = {head};
    for (size_t i = 0; i < std::min(most, groups_.size()); ++i) {
      const Group& group = groups_[i];
      std::vector<std::string> row = {std::to_string(group.count)};
      if (bytes) row.push_back(HumanBytes(group.bytes));
      row.insert(row.end(), group.columns.begin(), group.columns.end());
      row.push_back(group.first);
      rows.push_back(std::move(row));
    }
    std::string out = Table(rows, align);
    if (groups_.size() > most) {
      out += fmt::format("({} more rows: --most {})\n", groups_.size() - most, groups_.size());
    }
    return out;
  }

 private:
  std::map<std::vector<std::string>, size_t> places_;
  std::vector<Group> groups_;
  size_t last_ = 0;
};

class TextWriter {
 public:
  TextWriter(const Module& before, const Module& after, const ModuleDiff& diff, size_t most)
      : before_(before), after_(after), diff_(diff), most_(most) {}

  std::string Run() {
    out_ = Summary();
    if (diff_.IsEmpty()) return out_;
    EntryLayouts();
    Layouts();
    Copies("appeared", after_, diff_.appeared, diff_.appeared_bytes, diff_.plumbing_added);
    Copies("vanished", before_, diff_.vanished, diff_.vanished_bytes, diff_.plumbing_removed);
    Structure();
    return out_;
  }

 private:
  std::string Summary() const {
    std::string matched = fmt::format("{} in {}", Count(diff_.matched_instructions, "instruction"),
                                      Count(diff_.matched_computations, "computation"));
    if (diff_.IsEmpty()) return fmt::format("no difference: {} match\n", matched);
    std::vector<std::string> parts;
    auto part = [&](size_t count, std::string text) {
      if (count != 0) parts.push_back(std::move(text));
    };
    part(diff_.entry_layouts.size(),
         Count(diff_.entry_layouts.size(), "layout of the entry changed",
               "layouts of the entry changed"));
    part(diff_.layouts.size(),
         Count(diff_.layouts.size(), "value changed layout", "values changed layout"));
    part(diff_.appeared.size(),
         fmt::format("{} appeared ({})", Count(diff_.appeared.size(), "copy", "copies"),
                     HumanBytes(diff_.appeared_bytes)));
    part(diff_.vanished.size(),
         fmt::format("{} vanished ({})", Count(diff_.vanished.size(), "copy", "copies"),
                     HumanBytes(diff_.vanished_bytes)));
    part(diff_.changed.size(),
         Count(diff_.changed.size(), "instruction changed", "instructions changed"));
    part(diff_.added.size(), fmt::format("{} added", diff_.added.size()));
    part(diff_.removed.size(), fmt::format("{} removed", diff_.removed.size()));
    part(diff_.computations_added.size(),
         fmt::format("{} added", Count(diff_.computations_added.size(), "computation")));
    part(diff_.computations_removed.size(),
         fmt::format("{} removed", Count(diff_.computations_removed.size(), "computation")));
    part(diff_.header.size(), "other header");
    if (diff_.StructureIsEqual()) parts.push_back("rest equal");
    return fmt::format("{} ({} matched)\n", fmt::join(parts, ", "), matched);
  }

  void EntryLayouts() {
    if (diff_.entry_layouts.empty()) return;
    Rows rows = {{"entry", "before", "after"}};
    for (size_t i = 0; i < std::min(most_, diff_.entry_layouts.size()); ++i) {
      const EntryLayoutChange& change = diff_.entry_layouts[i];
      const ComputationLayout& layout = *before_.config().entry_computation_layout;
      std::string place =
          change.parameter
              ? fmt::format(
                    "parameter {}{}", *change.parameter,
                    IndexName(before_.shapes(), layout.parameters[*change.parameter], change.leaf))
              : fmt::format("result{}", IndexName(before_.shapes(), layout.result, change.leaf));
      rows.push_back({place, change.before, change.after});
    }
    out_ += fmt::format("\nentry layout: {}\n{}", Count(diff_.entry_layouts.size(), "change"),
                        Table(rows, "lll"));
    More(diff_.entry_layouts.size());
  }

  void Layouts() {
    if (diff_.layouts.empty()) return;
    Groups groups;
    for (const LayoutChange& change : diff_.layouts) {
      const ShapePool& shapes = before_.shapes();
      ShapeId whole = before_.shape(change.before);
      ShapeId a = shapes.Subshape(whole, change.leaf);
      ShapeId b = after_.shapes().Subshape(after_.shape(change.after), change.leaf);
      bool fresh = groups.Add({shapes.Text(a, false), LayoutName(shapes, shapes.layout(a)),
                               LayoutName(after_.shapes(), after_.shapes().layout(b))},
                              shapes.LogicalBytes(a));
      if (!fresh) continue;
      groups.SetExample(
          fmt::format("{}{} ({})", BothNames(before_, change.before, after_, change.after),
                      IndexName(shapes, whole, change.leaf), OpcodeName(after_, change.after)));
    }
    out_ += fmt::format("\nlayouts: {}\n", Count(diff_.layouts.size(), "value"));
    out_ += groups.Text({"values", "bytes", "shape", "before", "after", "first of them"}, "rrllll",
                        true, most_);
  }

  void Copies(std::string_view what, const Module& module, const std::vector<CopyChange>& copies,
              int64_t bytes, const std::vector<InstId>& plumbing) {
    if (copies.empty() && plumbing.empty()) return;
    const ShapePool& shapes = module.shapes();
    Groups groups;
    for (const CopyChange& copy : copies) {
      ShapeId to = module.shape(copy.copy);
      InstId source = module.operand(copy.copy, 0);
      ShapeId from = module.shape(source);
      bool array = shapes.IsArray(to) && shapes.IsArray(from);
      bool fresh = groups.Add(
          {Clip(shapes.Text(to, false), 60), array ? LayoutName(shapes, shapes.layout(from)) : "",
           array ? LayoutName(shapes, shapes.layout(to)) : ""},
          copy.bytes);
      if (fresh) {
        groups.SetExample(fmt::format("%{} = %{} for {}", module.name(copy.copy),
                                      module.name(source), ConsumerName(module, copy)));
      }
    }
    std::string around;
    if (!plumbing.empty()) {
      size_t tuples = std::count_if(plumbing.begin(), plumbing.end(),
                                    [&](InstId id) { return module.opcode(id) == Opcode::kTuple; });
      around = fmt::format("{} and {}", Count(tuples, "tuple"),
                           Count(plumbing.size() - tuples, "get-tuple-element"));
    }
    if (copies.empty()) {
      out_ += fmt::format("\nwithout copies: {} {}\n", around, what);
      return;
    }
    out_ += fmt::format("\ncopies that {}: {}, {}\n", what, copies.size(), HumanBytes(bytes));
    out_ += groups.Text({"copies", "bytes", "shape", "from", "to", "first of them"}, "rrllll", true,
                        most_);
    if (!around.empty()) out_ += fmt::format("with {} around them\n", around);
  }

  static std::string ConsumerName(const Module& module, const CopyChange& copy) {
    if (copy.consumer.valid()) {
      return fmt::format("operand {} of %{} ({})", copy.operand, module.name(copy.consumer),
                         OpcodeName(module, copy.consumer));
    }
    std::string_view computation = module.name(module.computation_of(copy.copy));
    return module.IsRoot(copy.copy) ? fmt::format("the result of %{}", computation) : "nobody";
  }

  void Structure() {
    if (diff_.StructureIsEqual()) return;
    out_ += "\nstructure\n";
    for (const std::string& field : diff_.header) out_ += fmt::format("other {}\n", field);
    Computations("added", after_, before_, diff_.computations_added);
    Computations("removed", before_, after_, diff_.computations_removed);
    Instructions("added", after_, diff_.added);
    Instructions("removed", before_, diff_.removed);
    Changes();
  }

  void Computations(std::string_view what, const Module& module, const Module& other,
                    const std::vector<ComputationChange>& changes) {
    if (changes.empty()) return;
    out_ += fmt::format("\ncomputations {}: {}\n", what, changes.size());
    Rows rows = {{"instructions", "computation", ""}};
    for (size_t i = 0; i < std::min(most_, changes.size()); ++i) {
      const ComputationChange& change = changes[i];
      rows.push_back({std::to_string(module.computation(change.computation).instructions.size()),
                      fmt::format("%{}", module.name(change.computation)),
                      change.variant_of.valid()
                          ? fmt::format("computes the same as %{}", other.name(change.variant_of))
                          : ""});
    }
    out_ += Table(rows, "rll");
    More(changes.size());
  }

  void Instructions(std::string_view what, const Module& module, const std::vector<InstId>& ids) {
    if (ids.empty()) return;
    Groups groups;
    for (InstId id : ids) {
      bool fresh = groups.Add(
          {OpcodeName(module, id), Clip(module.shapes().Text(module.shape(id), false), 60)}, 0);
      if (!fresh) continue;
      groups.SetExample(
          fmt::format("%{} in %{}", module.name(id), module.name(module.computation_of(id))));
    }
    out_ += fmt::format("\ninstructions {}: {}\n", what, ids.size());
    out_ += groups.Text({"count", "opcode", "shape", "first of them"}, "rlll", false, most_);
  }

  void Changes() {
    if (diff_.changed.empty()) return;
    out_ += fmt::format("\ninstructions changed: {}\n", diff_.changed.size());
    constexpr size_t kWidth = 160;
    for (size_t i = 0; i < std::min(most_, diff_.changed.size()); ++i) {
      const InstructionChange& change = diff_.changed[i];
      out_ += fmt::format("{}: {}\n", BothNames(before_, change.before, after_, change.after),
                          ChangeName(change));
      out_ += fmt::format("  - {}\n", Clip(PrintInstruction(before_, change.before), kWidth));
      out_ += fmt::format("  + {}\n", Clip(PrintInstruction(after_, change.after), kWidth));
    }
    More(diff_.changed.size());
  }

  std::string ChangeName(const InstructionChange& change) const {
    std::vector<std::string> parts;
    if (change.root) {
      parts.push_back(
          fmt::format("other root of %{}", after_.name(after_.computation_of(change.after))));
    }
    if (change.opcode) parts.push_back("other opcode");
    if (change.shape) parts.push_back("other shape");
    if (change.operand_count) parts.push_back("other number of operands");
    if (!change.operands.empty()) {
      size_t shown = std::min<size_t>(change.operands.size(), 8);
      parts.push_back(
          fmt::format("other operand {}{}",
                      fmt::join(change.operands.begin(), change.operands.begin() + shown, ", "),
                      shown < change.operands.size() ? ", …" : ""));
    }
    for (AttrKind kind : change.attributes) parts.push_back("other " + DiffAttributeName(kind));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  void More(size_t count) {
    if (count > most_) out_ += fmt::format("({} more: --most {})\n", count - most_, count);
  }

  const Module& before_;
  const Module& after_;
  const ModuleDiff& diff_;
  size_t most_;
  std::string out_;
};

}  // namespace

std::string DiffText(const Module& before, const Module& after, const ModuleDiff& diff,
                     size_t most) {
  return TextWriter(before, after, diff, most).Run();
}

std::string DiffAttributeName(AttrKind kind) {
  if (kind == AttrKind::kParameterNumber) return "parameter number";
  if (kind == AttrKind::kConstantLiteral) return "value";
  if (kind == AttrKind::kUnknownAttribute) return "unknown attribute";
  return std::string(Info(kind).text);
}

}  // namespace hlokit::cli
