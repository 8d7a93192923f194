// What does one hop of a cause chain say, in words?
#include <charconv>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "hlokit/explain.h"

namespace hlokit {
namespace {

std::string Name(const Module& module, InstId id) { return fmt::format("%{}", module.name(id)); }

/// " at {0,1}" for the part of a tuple, empty for a whole value.
std::string PartText(const Module& module, ShapeId shape, uint32_t preorder) {
  if (preorder == 0) return "";
  return fmt::format(" at {{{}}}", fmt::join(module.shapes().IndexOf(shape, preorder), ","));
}

std::string ComputationPart(const Module& module, CompId computation, uint32_t index) {
  std::string_view name = module.name(computation);
  if (index == kResultIndex) return fmt::format("result of %{}", name);
  return fmt::format("parameter {} of %{}", index, name);
}

}  // namespace

std::string OpNameOf(const Module& module, InstId id) {
  std::string_view text = module.TextAttr(id, AttrKind::kMetadata);
  if (text.empty()) return "";
  TextFields fields = ParseMetadata(text);
  const std::string* name = FindField(fields, "op_name");
  return name == nullptr ? "" : *name;
}

std::string SourceOf(const Module& module, InstId id) {
  std::string_view text = module.TextAttr(id, AttrKind::kMetadata);
  if (text.empty()) return "";
  TextFields fields = ParseMetadata(text);
  if (const std::string* file = FindField(fields, "source_file"); file != nullptr) {
    const std::string* line = FindField(fields, "source_line");
    return line == nullptr ? *file : *file + ":" + *line;
  }
  const std::string* frame = FindField(fields, "stack_frame_id");
  if (frame == nullptr) return "";
  size_t number = 0;
  std::from_chars(frame->data(), frame->data() + frame->size(), number);
  const StackFrameIndex& index = module.config().stack_frame_index;
  if (number == 0 || number > index.stack_frames.size()) return "";
  size_t location = static_cast<size_t>(index.stack_frames[number - 1].file_location_id);
  if (location == 0 || location > index.file_locations.size()) return "";
  const FileLocation& place = index.file_locations[location - 1];
  size_t file = static_cast<size_t>(place.file_name_id);
  if (file == 0 || file > index.file_names.size()) return "";
  return fmt::format("{}:{}", index.file_names[file - 1], place.line);
}

HopText DescribeHop(const Module& module, const LayoutTrace& trace, CauseHop hop) {
  const TraceEvent& event = trace[hop.event];
  HopText text;
  text.event = hop.event;
  const TraceRuleInfo& rule = Info(event.rule);
  text.rule = rule.name;
  text.section = rule.section;
  text.reason = rule.reason;
  text.mandatory = event.mandatory;
  text.dfs = event.dfs;
  text.priority = event.priority;
  text.round = event.round;
  text.layout = module.shapes().LayoutText(trace.LayoutAt(module, hop));
  switch (event.kind) {
    case TraceEventKind::kSetBuffer:
      text.kind = "buffer";
      text.constraint = "buffer of " + Name(module, event.instruction()) +
                        PartText(module, module.shape(event.instruction()), event.target_index);
      text.outcome = Info(event.outcome).name;
      break;
    case TraceEventKind::kSetOperand:
      text.kind = "operand";
      text.constraint =
          fmt::format("operand {} of {}", event.target_index, Name(module, event.instruction()));
      text.outcome = Info(event.outcome).name;
      break;
    default: {
      text.kind = "computation";
      // A leaf belongs to the shape in front of it.
      EventId shape_event = hop.event;
      while (shape_event > 0 && trace[shape_event].kind == TraceEventKind::kComputationLeaf)
        --shape_event;
      const TraceEvent& owner = trace[shape_event];
      if (owner.kind == TraceEventKind::kComputationShape) {
        text.constraint = ComputationPart(module, CompId(owner.target), owner.target_index);
        text.constraint +=
            PartText(module, owner.shape(),
                     event.kind == TraceEventKind::kComputationLeaf ? event.target_index : 0);
      } else {
        text.constraint = fmt::format("result of %{}", module.name(event.computation));
      }
      break;
    }
  }
  InstId at = event.at.valid() ? event.at : (event.IsRequest() ? event.instruction() : InstId());
  if (std::optional<BackendRuleText> backend = BackendText(module, trace, event)) {
    text.reason = backend->sentence;
    text.backend_rule = backend->id;
    text.link = backend->link;
  }
  if (at.valid()) {
    text.instruction = module.name(at);
    text.opcode = OpcodeText(module.opcode(at));
    text.source = SourceOf(module, at);
    text.op_name = OpNameOf(module, at);
  }
  return text;
}

std::vector<HopText> DescribeChain(const Module& module, const LayoutTrace& trace, CauseHop hop) {
  std::vector<HopText> out;
  if (hop.event == kNoEvent) return out;
  std::vector<CauseHop> chain = trace.CauseChain(hop);
  for (size_t i = chain.size(); i-- > 0;) out.push_back(DescribeHop(module, trace, chain[i]));
  return out;
}

std::vector<EventId> RequestsOn(const LayoutTrace& trace, EventId event) {
  std::vector<EventId> out;
  if (event == kNoEvent || !trace[event].IsRequest()) return out;
  const TraceEvent& wanted = trace[event];
  for (EventId id = 0; id < trace.size(); ++id) {
    const TraceEvent& other = trace[id];
    if (other.kind == wanted.kind && other.target == wanted.target &&
        other.target_index == wanted.target_index && other.round == wanted.round) {
      out.push_back(id);
    }
  }
  return out;
}

}  // namespace hlokit
