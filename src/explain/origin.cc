// Where does a demand start?
#include "fmt/format.h"
#include "hlokit/explain.h"

namespace hlokit {

std::string_view OriginName(OriginKind kind) {
  constexpr std::string_view kNames[] = {
      "entry-parameter", "entry-result", "custom-call", "collective",  "infeed", "outfeed",
      "send-recv",       "channel",      "while",       "conditional", "call",   "alias",
      "computation",     "default",      "backend",     "other"};
  return kNames[static_cast<int>(kind)];
}

namespace {

OriginKind KindOf(TraceRule rule) {
  switch (rule) {
    case TraceRule::kAlias:
      return OriginKind::kAlias;
    case TraceRule::kInfeed:
      return OriginKind::kInfeed;
    case TraceRule::kOutfeed:
      return OriginKind::kOutfeed;
    case TraceRule::kConstrainedCollective:
      return OriginKind::kCollective;
    case TraceRule::kChannel:
      return OriginKind::kChannel;
    case TraceRule::kCall:
      return OriginKind::kCall;
    case TraceRule::kWhile:
      return OriginKind::kWhile;
    case TraceRule::kConditional:
      return OriginKind::kConditional;
    case TraceRule::kCustomCall:
    case TraceRule::kCustomCallCopy:
      return OriginKind::kCustomCall;
    case TraceRule::kDefault:
    case TraceRule::kDefaultConstant:
      return OriginKind::kDefault;
    case TraceRule::kBackend:
      return OriginKind::kBackend;
    case TraceRule::kInitial:
    case TraceRule::kAdopt:
      return OriginKind::kComputation;
    default:
      return OriginKind::kOther;
  }
}

std::string Quoted(const Module& module, InstId id) {
  std::string_view target = module.TextAttr(id, AttrKind::kCustomCallTarget);
  if (module.opcode(id) == Opcode::kCustomCall && !target.empty()) {
    return fmt::format("%{} ({})", module.name(id), target);
  }
  return fmt::format("%{} ({})", module.name(id), OpcodeText(module.opcode(id)));
}

}  // namespace

/// What the backend says about its demand; nothing for other demands.
std::optional<BackendRuleText> BackendText(const Module& module, const LayoutTrace& trace,
                                           const TraceEvent& event) {
  if (event.backend_rule == 0 || trace.rule_book() == nullptr) return std::nullopt;
  return trace.rule_book()->Describe(module, event.backend_rule, event.at);
}

CauseHop RootFinder::Root(CauseHop hop) {
  std::vector<uint64_t> walked;
  while (true) {
    uint64_t key = uint64_t{hop.event} << 32 | hop.leaf;
    auto known = roots_.find(key);
    if (known != roots_.end()) {
      hop = known->second;
      break;
    }
    walked.push_back(key);
    CauseHop next = trace_.Cause(hop);
    if (next.event == kNoEvent) break;
    hop = next;
  }
  for (uint64_t key : walked) roots_.emplace(key, hop);
  return hop;
}

Origin FindOrigin(const Module& module, const LayoutTrace& trace, CauseHop hop) {
  RootFinder finder(trace);
  return DescribeOrigin(module, trace, hop.event == kNoEvent ? hop : finder.Root(hop));
}

Origin DescribeOrigin(const Module& module, const LayoutTrace& trace, CauseHop hop) {
  Origin origin;
  if (hop.event == kNoEvent) {
    origin.description = "no recorded demand";
    return origin;
  }
  origin.hop = hop;
  const TraceEvent& event = trace[hop.event];
  origin.kind = KindOf(event.rule);
  EventId shape_event = hop.event;
  while (shape_event > 0 && trace[shape_event].kind == TraceEventKind::kComputationLeaf)
    --shape_event;
  const TraceEvent& owner = trace[shape_event];
  if (owner.kind == TraceEventKind::kComputationShape) {
    origin.computation = CompId(owner.target);
    bool result = owner.target_index == kResultIndex;
    if (!result) {
      origin.parameter = owner.target_index;
      const std::vector<InstId>& parameters = module.computation(origin.computation).parameters;
      if (owner.target_index < parameters.size())
        origin.instruction = parameters[owner.target_index];
    } else {
      origin.instruction = module.computation(origin.computation).root;
    }
    bool entry = origin.computation == module.entry();
    if (event.rule == TraceRule::kEntryPin || (entry && owner.rule == TraceRule::kEntryPin)) {
      origin.kind = result ? OriginKind::kEntryResult : OriginKind::kEntryParameter;
    }
    if (origin.kind == OriginKind::kEntryParameter) {
      origin.description = fmt::format(
          "the entry layout of parameter {} ({})", origin.parameter,
          origin.instruction.valid() ? fmt::format("%{}", module.name(origin.instruction)) : "?");
    } else if (origin.kind == OriginKind::kEntryResult) {
      origin.description = "the entry layout of the result";
    } else if (result) {
      origin.description = fmt::format("the result layout of %{}", module.name(origin.computation));
    } else {
      origin.description = fmt::format("the layout of parameter {} of %{}", origin.parameter,
                                       module.name(origin.computation));
    }
    return origin;
  }
  origin.instruction =
      event.at.valid() ? event.at : (event.IsRequest() ? event.instruction() : InstId());
  if (!origin.instruction.valid()) {
    origin.description = fmt::format("{}", Info(event.rule).reason);
    return origin;
  }
  if (std::optional<BackendRuleText> text = BackendText(module, trace, event)) {
    origin.kind = OriginKind::kBackend;
    origin.description = fmt::format("{}: rule {}", text->sentence, text->id);
    origin.rule = std::move(text->id);
    origin.link = std::move(text->link);
    return origin;
  }
  std::string who = Quoted(module, origin.instruction);
  switch (origin.kind) {
    case OriginKind::kDefault:
      origin.description = fmt::format("the default layout of {}: nobody asked for another", who);
      break;
    case OriginKind::kCustomCall:
      origin.description = fmt::format("the layout that the custom call {} declares", who);
      break;
    case OriginKind::kCollective:
      origin.description = fmt::format("constrain_layout of {}", who);
      break;
    default:
      origin.description = fmt::format("{}: {}", who, Info(event.rule).reason);
  }
  return origin;
}

}  // namespace hlokit
