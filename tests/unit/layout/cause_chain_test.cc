// Is every hop of a cause chain right? Each recorded request is derived again from the rule that it
// names and from its cause alone, with code that is independent of the pass: positions of elements
// for reshapes, formulas of section 6 for the rest. Runs over the modules of the golden tests.
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using List = std::vector<int64_t>;

class Checker {
 public:
  Checker(const Module& before, const LayoutTrace& trace, const LayoutAssignmentReport& report)
      : m_(before), shapes_(before.shapes()), trace_(trace), report_(report) {}

  /// Empty when the event follows from its parent by its rule.
  std::string Problem(EventId id, uint32_t leaf) const {
    TraceEvent e = trace_[id];
    CauseHop cause = trace_.Cause({id, leaf});
    LayoutId mine = trace_.LayoutAt(m_, {id, leaf});
    if (!mine.valid()) return "";
    bool has_cause = cause.event != kNoEvent;
    if (has_cause && cause.event >= id) return "the cause comes later";
    TraceEvent p = has_cause ? trace_[cause.event] : TraceEvent();
    LayoutId theirs = has_cause ? trace_.LayoutAt(m_, cause) : LayoutId();
    auto same_order = [&] {
      if (!has_cause) return std::string("no cause");
      return shapes_.SameOrder(mine, theirs) ? std::string() : "another order than the cause";
    };
    switch (e.rule) {
      // ---- demands that start here ----
      case TraceRule::kInfeed:
      case TraceRule::kConstrainedCollective: {
        ShapeId shape = m_.shape(e.at);
        if (has_cause) return "a demand that starts here has no cause";
        std::vector<ShapeId> leaves = shapes_.Subshapes(shape);
        bool written = std::any_of(leaves.begin(), leaves.end(), [&](ShapeId l) {
          return shapes_.IsArray(l) && shapes_.SameOrder(shapes_.layout(l), mine);
        });
        return written ? "" : "not the layout that is written at the instruction";
      }
      case TraceRule::kOutfeed: {
        ShapeId shape(m_.FindAttr(e.at, AttrKind::kOutfeedShape)->low);
        return shapes_.SameOrder(shapes_.layout(shapes_.Subshape(shape, leaf)), mine)
                   ? ""
                   : "not the outfeed shape";
      }
      case TraceRule::kCustomCall:
        if (e.kind == TraceEventKind::kSetBuffer) {
          ShapeId own = shapes_.Subshape(m_.shape(e.at), e.target_index);
          return shapes_.layout(own) == mine ? "" : "not the shape of the custom call";
        }
        if (m_.IsCustomCall(e.at, "LayoutConstraint")) {
          return shapes_.SameOrder(shapes_.layout(m_.shape(e.at)), mine) ? "" : "not its own shape";
        }
        return shapes_.SameOrder(shapes_.layout(shapes_.Subshape(
                                     m_.operand_layout_constraints(e.at)[e.target_index], leaf)),
                                 mine)
                   ? ""
                   : "not the declared constraint";
      case TraceRule::kCustomCallCopy:
        return "";  // the declared constraint of the operand that the copy is
      case TraceRule::kDefault:
        return has_cause || mine != m_.mutable_shapes().DescendingLayout(shapes_[mine].rank)
                   ? "not the default layout"
                   : "";
      case TraceRule::kDefaultConstant: {
        LayoutId written = shapes_.layout(shapes_.Subshape(m_.shape(e.at), e.target_index));
        return !written.valid() || written == mine ? "" : "not the layout of the literal";
      }
      case TraceRule::kEntryPin:
      case TraceRule::kInitial:
        return has_cause ? "a demand that starts here has no cause" : "";
      // ---- agreement: the same order ----
      case TraceRule::kParameter:
      case TraceRule::kReversePush:
      case TraceRule::kChannel:
      case TraceRule::kCall:
      case TraceRule::kWhile:
      case TraceRule::kConditional:
      case TraceRule::kResult:
      case TraceRule::kAlias:
      case TraceRule::kAdopt:
        return same_order();
      // ---- spreading ----
      case TraceRule::kUse:
        if (p.kind != TraceEventKind::kSetBuffer || !IsBehind(Operand(e), 0, p)) {
          return "the operand is not the buffer of the cause";
        }
        return same_order();
      case TraceRule::kDefinition:
        if (p.kind != TraceEventKind::kSetOperand || p.instruction() != e.at ||
            !IsBehind(Operand(p), cause.leaf, e)) {
          return "the buffer is not behind the operand of the cause";
        }
        return same_order();
      case TraceRule::kSibling:
      case TraceRule::kSameLayoutOutput:
        if (p.kind != TraceEventKind::kSetOperand || p.instruction() != e.instruction()) {
          return "not the same instruction";
        }
        return same_order();
      case TraceRule::kSameLayoutOperand:
      case TraceRule::kAllReduce:
      case TraceRule::kOutputAlias:
      case TraceRule::kCustomCallAlias:
        if (p.instruction() != e.instruction()) return "not the same instruction";
        return same_order();
      case TraceRule::kFixedInstruction:
        return has_cause ? same_order() : "";
      case TraceRule::kBackEdge: {
        InstId root = e.at;
        std::span<const InstId> all = m_.operands(root);
        return std::find(all.begin(), all.end(), p.instruction()) != all.end()
                   ? same_order()
                   : "the root does not use the buffer of the cause";
      }
      case TraceRule::kBroadcast: {
        List expected;
        std::span<const int64_t> kept = m_.dimensions(e.at);
        for (int64_t d : shapes_.minor_to_major(theirs)) {
          auto at = std::find(kept.begin(), kept.end(), d);
          if (at != kept.end()) expected.push_back(at - kept.begin());
        }
        return Is(mine, expected);
      }
      case TraceRule::kTransposeOperand: {
        List expected;
        for (int64_t d : shapes_.minor_to_major(theirs)) expected.push_back(m_.dimensions(e.at)[d]);
        return Is(mine, expected);
      }
      case TraceRule::kTransposeOutput: {
        List expected;
        std::span<const int64_t> permutation = m_.dimensions(e.at);
        for (int64_t d : shapes_.minor_to_major(theirs)) {
          expected.push_back(std::find(permutation.begin(), permutation.end(), d) -
                             permutation.begin());
        }
        return Is(mine, expected);
      }
      case TraceRule::kReshapeOperand:
        return MovesNoData(m_.shape(e.at), theirs, m_.shape(m_.operand(e.at, 0)), mine);
      case TraceRule::kReshapeOutput:
        return MovesNoData(m_.shape(m_.operand(e.at, 0)), theirs, m_.shape(e.at), mine);
      case TraceRule::kBitcastConvert: {
        // Dimensions but the last keep the order that is written at the instruction.
        auto without = [&](LayoutId layout, int64_t last) {
          List order;
          for (int64_t d : shapes_.minor_to_major(layout)) {
            if (d != last) order.push_back(d);
          }
          return order;
        };
        LayoutId written = shapes_.layout(m_.shape(e.at));
        int64_t rank = std::min(shapes_[written].rank, shapes_[mine].rank);
        return without(written, rank) == without(mine, rank) ? "" : "another order";
      }
      default:
        return "a rule that the base pass does not have";
    }
  }

 private:
  InstId Operand(const TraceEvent& e) const { return m_.operand(e.instruction(), e.target_index); }
  /// The place (value, index) may be the buffer that the event is about.
  bool IsBehind(InstId value, uint32_t index, const TraceEvent& e) const {
    LayoutAssignmentReport::FinalBuffer buffer = report_.FinalDemand(value, index);
    if (buffer.definer == e.instruction() && buffer.index == e.target_index) return true;
    // The one place with two buffers belongs to an async-start with aliasing.
    return HasAmbiguousPlaces();
  }
  bool HasAmbiguousPlaces() const {
    for (uint32_t i = 0; i < m_.instruction_count(); ++i) {
      if (m_.opcode(InstId(i)) == Opcode::kAsyncStart &&
          m_.HasAttr(InstId(i), AttrKind::kOutputToOperandAliasing)) {
        return true;
      }
    }
    return false;
  }
  std::string Is(LayoutId layout, const List& expected) const {
    std::span<const int64_t> have = shapes_.minor_to_major(layout);
    return std::equal(have.begin(), have.end(), expected.begin(), expected.end()) ? ""
                                                                                  : "another order";
  }
  /// Every element keeps its physical place.
  std::string MovesNoData(ShapeId from, LayoutId from_layout, ShapeId to,
                          LayoutId to_layout) const {
    auto [known, is_new] = moves_.try_emplace({from, from_layout, to, to_layout});
    if (is_new) known->second = CompareEveryElement(from, from_layout, to, to_layout);
    return known->second;
  }
  std::string CompareEveryElement(ShapeId from, LayoutId from_layout, ShapeId to,
                                  LayoutId to_layout) const {
    std::span<const int64_t> a = shapes_.sizes(from);
    std::span<const int64_t> b = shapes_.sizes(to);
    int64_t count = shapes_.ElementCount(from);
    if (count != shapes_.ElementCount(to)) return "";
    auto position = [](std::span<const int64_t> sizes, std::span<const int64_t> m2m, int64_t flat) {
      List index(sizes.size());
      for (size_t d = sizes.size(); d-- > 0;) {
        index[d] = flat % sizes[d];
        flat /= sizes[d];
      }
      int64_t at = 0;
      int64_t stride = 1;
      for (int64_t d : m2m) {
        at += index[static_cast<size_t>(d)] * stride;
        stride *= sizes[static_cast<size_t>(d)];
      }
      return at;
    };
    for (int64_t flat = 0; flat < std::min<int64_t>(count, 5000); ++flat) {
      if (position(a, shapes_.minor_to_major(from_layout), flat) !=
          position(b, shapes_.minor_to_major(to_layout), flat)) {
        return "the reshape moves data";
      }
    }
    return "";
  }

  const Module& m_;
  const ShapePool& shapes_;
  const LayoutTrace& trace_;
  const LayoutAssignmentReport& report_;
  mutable std::map<std::tuple<ShapeId, LayoutId, ShapeId, LayoutId>, std::string> moves_;
};

struct Totals {
  int modules = 0;
  uint64_t events = 0;
  uint64_t chains = 0;
  std::map<std::string_view, uint64_t> rules;
};

/// Every pop takes what the replay has at the front, and what it holds is what the pop says.
void CheckReplay(const LayoutTrace& trace) {
  if (trace.size() > 20000) return;
  WorklistReplay replay(trace);
  for (EventId id = 0; id < trace.size(); ++id) {
    TraceEvent e = trace[id];
    if (e.kind == TraceEventKind::kPop) {
      std::vector<WorklistEntry> list = replay.Worklist();
      ASSERT_FALSE(list.empty()) << "event " << id;
      ASSERT_EQ(list[0].target_kind, e.target_kind) << "event " << id;
      ASSERT_EQ(list[0].target, e.target) << "event " << id;
      if (e.target_kind != TraceTarget::kComputation) {
        ASSERT_EQ(list[0].target_index, e.target_index) << "event " << id;
        ReplayedConstraint held = replay.Contents(list[0]);
        ASSERT_EQ(held.payload, e.payload) << "event " << id;
        ASSERT_EQ(held.mandatory, e.mandatory) << "event " << id;
        ASSERT_EQ(held.dfs, e.dfs) << "event " << id;
        ASSERT_EQ(held.priority, e.priority) << "event " << id;
        ASSERT_EQ(held.layout_event, e.parent) << "event " << id;
      }
    }
    ASSERT_TRUE(replay.Step());
  }
  EXPECT_TRUE(replay.Worklist().empty());
}

void CheckModule(const std::string& name, std::string text, const LayoutAssignmentOptions& base,
                 Totals* totals) {
  SCOPED_TRACE(name);
  Result<Module> module = ReadText(std::move(text));
  if (!module) return;
  LayoutTrace trace;
  LayoutAssignmentOptions options = base;
  options.trace = &trace;
  Result<LayoutAssignmentReport> report = AssignLayouts(*module, options);
  if (!report) return;
  ++totals->modules;
  // The rules look at the module as it was before layouts were assigned: read it again.
  // Instructions that the pass added before the rounds (clones, preparatory copies) are not in
  // there, so such modules are checked against an untouched copy only when nothing was added in
  // front.
  if (!report->clones.empty()) return;
  for (const AddedCopy& copy : report->copies) {
    if (copy.reason == CopyReason::kPreparatory) return;
  }
  std::ifstream again(name);
  std::stringstream source;
  source << again.rdbuf();
  Module before = layout_test::Read(source.str());
  // Layouts and shapes are numbers of the pool of the module that was run: go on in that pool.
  std::vector<ShapeId> old_shapes;
  std::map<std::string, ShapeId> by_text;
  Module original = *module;
  for (uint32_t i = 0; i < before.instruction_count(); ++i) {
    ShapeId shape = before.shape(InstId(i));
    std::string written = before.shapes().Text(shape);
    auto [found, inserted] = by_text.try_emplace(written);
    if (inserted) {
      Result<ShapeId> read = ReadShape(written, original);
      ASSERT_TRUE(read.has_value()) << written;
      found->second = *read;
    }
    original.set_shape(InstId(i), found->second);
    std::vector<InstId> operands(before.operands(InstId(i)).begin(),
                                 before.operands(InstId(i)).end());
    original.SetOperands(InstId(i), operands);
  }
  Checker checker(original, trace, *report);
  for (EventId id = 0; id < trace.size(); ++id) {
    TraceEvent e = trace[id];
    if (!e.IsRequest() && e.kind != TraceEventKind::kComputationLeaf) continue;
    ++totals->events;
    ++totals->rules[Info(e.rule).name];
    uint32_t leaves = 1;
    if (e.IsRequest() && e.payload_is_shape) leaves = original.shapes()[e.shape()].subshape_count;
    for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
      std::string problem = checker.Problem(id, leaf);
      ASSERT_EQ(problem, "") << "event " << id << " leaf " << leaf << " rule " << Info(e.rule).name
                             << " at "
                             << (e.at.valid() ? std::string(original.name(e.at)) : "nothing");
    }
  }
  CheckReplay(trace);
  // The two chains of every added copy begin with the layouts that the copy goes between.
  for (const AddedArrayCopy& part : report->parts) {
    for (auto [hop, layout] :
         {std::pair(part.losing, part.from), std::pair(part.winning, part.to)}) {
      ASSERT_NE(hop.event, kNoEvent);
      std::vector<CauseHop> chain = trace.CauseChain(hop);
      ASSERT_FALSE(chain.empty());
      EXPECT_TRUE(original.shapes().SameOrder(trace.LayoutAt(original, chain[0]), layout));
      EventId previous = kNoEvent;
      for (const CauseHop& step : chain) {
        ASSERT_TRUE(previous == kNoEvent || step.event < previous);
        previous = step.event;
      }
      ++totals->chains;
    }
  }
}

TEST(CauseChain, EveryHopFollowsFromItsRule) {
  namespace fs = std::filesystem;
  Totals totals;
  fs::path inputs = fs::path(HLOKIT_SOURCE_DIR) / "tests" / "golden" / "data" / "inputs";
  for (const char* set : {"scenarios", "cases", "generated", "collectives"}) {
    if (!fs::exists(inputs / set)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(inputs / set)) {
      if (file.path().extension() != ".hlo") continue;
      std::ifstream in(file.path());
      std::stringstream text;
      text << in.rdbuf();
      CheckModule(file.path().string(), text.str(), {}, &totals);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(totals.modules, 100);
  EXPECT_GT(totals.chains, 100u);
  // Every rule of the base pass that does not need a special option has been met.
  for (std::string_view rule : {"entry-pin",
                                "initial",
                                "adopt",
                                "parameter",
                                "call",
                                "while",
                                "conditional",
                                "custom-call",
                                "result",
                                "default-constant",
                                "default",
                                "same-layout-operand",
                                "broadcast",
                                "transpose-operand",
                                "reshape-operand",
                                "use",
                                "back-edge",
                                "definition",
                                "sibling",
                                "same-layout-output",
                                "transpose-output",
                                "reshape-output",
                                "all-reduce"}) {
    EXPECT_GT(totals.rules[rule], 0u) << rule;
  }
}

}  // namespace
}  // namespace hlokit
