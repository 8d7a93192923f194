// hlokit trace: the worklist of layout assignment, pop by pop (layout-assignment.md section 15).
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/cli/explain_output.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Writing the worklist after every pop takes quadratic space: only for modules up to this size.
constexpr uint32_t kWorklistInstructions = 3000;

class TraceWriter {
 public:
  TraceWriter(const ExplainedRun& run, bool worklist) : run_(run), worklist_(worklist) {}

  std::string Text() {
    WorklistReplay replay(run_.trace);
    size_t pop = 0;
    bool open = false;  // the last pop's worklist is still to be written
    std::string out;
    auto close = [&] {
      if (open && worklist_) out += "      worklist: " + Worklist(replay) + "\n";
      open = false;
    };
    for (EventId id = 0; id < run_.trace.size(); ++id) {
      const TraceEvent& event = run_.trace[id];
      bool boundary = event.kind == TraceEventKind::kPop ||
                      event.kind == TraceEventKind::kComputation ||
                      event.kind == TraceEventKind::kRound;
      if (boundary) close();
      replay.Step();
      switch (event.kind) {
        case TraceEventKind::kRound:
          out += fmt::format("round {}\n", event.round);
          break;
        case TraceEventKind::kComputation:
          out += fmt::format("  computation %{}\n", run_.module.name(event.computation));
          pop = 0;
          open = true;
          break;
        case TraceEventKind::kPop:
          out += fmt::format("    {}. {}\n", ++pop, Popped(event));
          open = true;
          break;
        case TraceEventKind::kComputationLeaf:
          break;
        default:
          out += "      " + Request(event) + "\n";
      }
    }
    close();
    out += Copies();
    return out;
  }

  Json Document() {
    Json events = Json::array();
    for (EventId id = 0; id < run_.trace.size(); ++id) events.push_back(EventJson(id));
    Json copies = Json::array();
    for (const AddedCopy& copy : run_.report.copies) {
      for (const AddedArrayCopy& part : run_.report.PartsOf(copy)) {
        Json entry = {{"name", run_.module.name(part.copy)},
                      {"reason", CopyReasonName(copy.reason)},
                      {"value", run_.module.name(copy.source)}};
        if (part.losing.event != kNoEvent) entry["losing_event"] = part.losing.event;
        if (part.winning.event != kNoEvent) entry["winning_event"] = part.winning.event;
        copies.push_back(entry);
      }
    }
    return {{"schema", "hlokit.trace/1"},
            {"module", run_.module.config().name},
            {"rounds", run_.report.rounds},
            {"pops", run_.report.pops},
            {"requests", run_.report.requests},
            {"events", events},
            {"copies", copies}};
  }

 private:
  std::string Key(TraceTarget kind, uint32_t target, uint32_t index) const {
    const Module& module = run_.module;
    switch (kind) {
      case TraceTarget::kBuffer: {
        std::string part;
        if (index != 0) {
          part = fmt::format(
              "[{}]", fmt::join(module.shapes().IndexOf(module.shape(InstId(target)), index), ","));
        }
        return fmt::format("B({}{})", module.name(InstId(target)), part);
      }
      case TraceTarget::kOperand:
        return fmt::format("O({}.{})", module.name(InstId(target)), index);
      case TraceTarget::kComputation:
        break;
    }
    return fmt::format("R({})", module.name(CompId(target)));
  }

  std::string Payload(const TraceEvent& event) const {
    if (event.payload == 0xffffffffu) return "unset";
    if (event.payload_is_shape || event.kind == TraceEventKind::kComputationShape) {
      return run_.module.shapes().Text(ShapeId(event.payload));
    }
    return run_.module.shapes().LayoutText(LayoutId(event.payload));
  }

  static std::string Flags(const TraceEvent& event) {
    return fmt::format("{}/{} p={}", event.mandatory ? 'T' : 'F', event.dfs ? 'T' : 'F',
                       event.priority);
  }

  std::string Popped(const TraceEvent& event) const {
    std::string key = Key(event.target_kind, event.target, event.target_index);
    if (event.target_kind == TraceTarget::kComputation) return key;
    return fmt::format("{} {} {}", key, Payload(event), Flags(event));
  }

  std::string Request(const TraceEvent& event) const {
    const TraceRuleInfo& rule = Info(event.rule);
    std::string why =
        fmt::format("[{}{}{}]", rule.name, rule.section.empty() ? "" : " ", rule.section);
    if (std::optional<BackendRuleText> text = BackendText(run_.module, run_.trace, event)) {
      why = fmt::format("[{} {}]", rule.name, text->id);
    }
    switch (event.kind) {
      case TraceEventKind::kSetBuffer:
      case TraceEventKind::kSetOperand: {
        TraceTarget kind =
            event.kind == TraceEventKind::kSetBuffer ? TraceTarget::kBuffer : TraceTarget::kOperand;
        return fmt::format("{} := {} {}: {} {}", Key(kind, event.target, event.target_index),
                           Payload(event), Flags(event), Info(event.outcome).name, why);
      }
      case TraceEventKind::kComputationShape: {
        std::string part = event.target_index == kResultIndex
                               ? "result"
                               : fmt::format("parameter {}", event.target_index);
        return fmt::format("{} {} := {} p={} {}", Key(TraceTarget::kComputation, event.target, 0),
                           part, Payload(event), event.priority, why);
      }
      default:
        return fmt::format("announce {} {}", Key(TraceTarget::kComputation, event.target, 0), why);
    }
  }

  std::string Worklist(const WorklistReplay& replay) const {
    std::vector<WorklistEntry> entries = replay.Worklist();
    if (entries.empty()) return "(empty)";
    std::string out;
    for (const WorklistEntry& entry : entries) {
      if (!out.empty()) out += " · ";
      out += Key(entry.target_kind, entry.target, entry.target_index) +
             (entry.strengthened ? "*" : "");
    }
    return out;
  }

  std::string Copies() const {
    std::string out;
    for (const AddedCopy& copy : run_.report.copies) {
      std::string who =
          copy.reason == CopyReason::kRoot
              ? fmt::format("the result of %{}", run_.module.name(copy.computation))
              : fmt::format("operand {} of %{}", copy.operand, run_.module.name(copy.consumer));
      out += fmt::format("copy %{} of %{} for {} ({}): {} -> {}\n", run_.module.name(copy.top),
                         run_.module.name(copy.source), who, CopyReasonName(copy.reason),
                         run_.module.shapes().Text(copy.old_shape),
                         run_.module.shapes().Text(copy.new_shape));
    }
    return out.empty() ? "no copies\n" : out;
  }

  Json EventJson(EventId id) const {
    const TraceEvent& event = run_.trace[id];
    constexpr std::string_view kKinds[] = {"round",
                                           "computation",
                                           "set-buffer",
                                           "set-operand",
                                           "computation-shape",
                                           "computation-leaf",
                                           "announce-result",
                                           "pop"};
    Json out = {
        {"event", id}, {"kind", kKinds[static_cast<int>(event.kind)]}, {"round", event.round}};
    if (event.kind == TraceEventKind::kRound) return out;
    if (event.computation.valid()) out["computation"] = run_.module.name(event.computation);
    if (event.kind == TraceEventKind::kComputation) return out;
    TraceTarget kind = event.kind == TraceEventKind::kSetBuffer    ? TraceTarget::kBuffer
                       : event.kind == TraceEventKind::kSetOperand ? TraceTarget::kOperand
                       : event.kind == TraceEventKind::kPop        ? event.target_kind
                                                                   : TraceTarget::kComputation;
    if (event.kind == TraceEventKind::kComputationLeaf) {
      out["leaf"] = event.target_index;
    } else {
      out["constraint"] = Key(kind, event.target, event.target_index);
    }
    if (event.kind == TraceEventKind::kComputationShape) {
      out["part"] = event.target_index == kResultIndex ? Json("result") : Json(event.target_index);
    }
    if (kind != TraceTarget::kComputation || event.kind == TraceEventKind::kComputationShape ||
        event.kind == TraceEventKind::kComputationLeaf) {
      out["layout"] = Payload(event);
      out["mandatory"] = static_cast<bool>(event.mandatory);
      out["depth_first"] = static_cast<bool>(event.dfs);
    }
    out["priority"] = event.priority;
    if (event.rule != TraceRule::kNone) out["rule"] = Info(event.rule).name;
    if (event.IsRequest()) out["outcome"] = Info(event.outcome).name;
    if (std::optional<BackendRuleText> text = BackendText(run_.module, run_.trace, event)) {
      out["backend_rule"] = text->id;
    }
    if (event.at.valid()) out["at"] = run_.module.name(event.at);
    if (event.parent != kNoEvent) out["parent"] = event.parent;
    return out;
  }

  const ExplainedRun& run_;
  bool worklist_;
};

}  // namespace

void RegisterTrace(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    AssignOptions assign;
    Format format = Format::kText;
    bool worklist = false;
    bool no_worklist = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("trace", "the worklist of layout assignment, pop by pop");
  command->footer(
      "B(x[i]) is a buffer constraint, O(x.k) one of operand k, R(c) one of a computation; T/F are "
      "the\n"
      "flags mandatory/depth first, p the priority; * marks an entry whose flags were "
      "strengthened.\n"
      "Examples:\n  hlokit trace module.txt\n  hlokit trace --format json module.txt");
  state->input.Register(*command);
  state->assign.Register(*command);
  RegisterFormat(*command, &state->format);
  command->add_flag("--worklist", state->worklist,
                    "write the worklist after each pop whatever the size of the module");
  command->add_flag("--no-worklist", state->no_worklist, "leave the worklist out");
  command->callback([state, &exit_code] {
    Result<ExplainedRun> run = RunExplained(state->input, state->assign, /*quiet=*/false);
    if (!run) {
      exit_code = Report(run.error(), state->input.path);
      return;
    }
    bool small = run->original_instructions <= kWorklistInstructions;
    if (!small && !state->worklist && state->format == Format::kText && !state->no_worklist) {
      std::fputs(
          "note: the worklists are left out for a module of this size; --worklist writes them\n",
          stderr);
    }
    TraceWriter writer(*run, !state->no_worklist && (state->worklist || small));
    exit_code = state->format == Format::kJson ? EmitJson(writer.Document()) : Emit(writer.Text());
  });
}

}  // namespace hlokit::cli
