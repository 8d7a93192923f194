// How does an explanation look, as text and as JSON?
#include "src/cli/explain_output.h"

#include <algorithm>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "nlohmann/json.hpp"

namespace hlokit::cli {

using Json = nlohmann::ordered_json;

Result<ExplainedRun> RunExplained(const InputOptions& input, const AssignOptions& assign,
                                  bool quiet) {
  ASSIGN_OR_RETURN(Module module, Load(input, quiet));
  ExplainedRun run{.module = std::move(module)};
  run.original_instructions = run.module.instruction_count();
  MemorySpaces memory_spaces = FindMemorySpaces(run.module);
  uint64_t copies_in_input = 0;
  for (uint32_t i = 0; i < run.original_instructions; ++i) {
    copies_in_input += run.module.opcode(InstId(i)) == Opcode::kCopy;
  }
  // Copies between memory spaces are listed apart; an instruction may have several parts there.
  InstId previous;
  for (const SpaceTransfer& transfer : memory_spaces.transfers) {
    bool copy = run.module.opcode(transfer.instruction) == Opcode::kCopy;
    if (copy && transfer.instruction != previous) --copies_in_input;
    previous = transfer.instruction;
  }
  ASSIGN_OR_RETURN(PreparedAssignment prepared, assign.Build(run.module, quiet));
  run.device = std::move(prepared.device);
  prepared.options.trace = &run.trace;
  ASSIGN_OR_RETURN(run.report, AssignLayouts(run.module, prepared.options));
  run.explanation = Explain(run.module, run.report, run.trace, copies_in_input);
  run.explanation.memory_spaces = std::move(memory_spaces);
  return run;
}

namespace {

std::string Plural(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string LayoutOf(const ExplainedRun& run, LayoutId layout) {
  return run.module.shapes().LayoutText(layout);
}

std::string Named(const ExplainedRun& run, InstId id) {
  return fmt::format("%{}", run.module.name(id));
}

/// "operand 1 of %dot.3 (dot)", "the result of %main".
std::string ConsumerText(const ExplainedRun& run, const AddedCopy& copy) {
  const Module& module = run.module;
  if (copy.reason == CopyReason::kRoot)
    return fmt::format("the result of %{}", module.name(copy.computation));
  std::string out = fmt::format("operand {} of {} ({})", copy.operand, Named(run, copy.consumer),
                                OpcodeText(module.opcode(copy.consumer)));
  if (copy.reason == CopyReason::kBranch) out += ", inside the branch";
  return out;
}

/// The place in the user's program: of the consumer, else of the copied value.
std::string SourceOfCopy(const ExplainedRun& run, const AddedCopy& copy) {
  std::string source = copy.consumer.valid() ? SourceOf(run.module, copy.consumer) : "";
  return source.empty() ? SourceOf(run.module, copy.source) : source;
}

std::string OpNameOfCopy(const ExplainedRun& run, const AddedCopy& copy) {
  std::string name = copy.consumer.valid() ? OpNameOf(run.module, copy.consumer) : "";
  return name.empty() ? OpNameOf(run.module, copy.source) : name;
}

/// The path of the copied part in the source value, for tuples.
std::string PartPath(const ExplainedRun& run, const AddedCopy& copy, const AddedArrayCopy& part) {
  if (!run.module.shapes().IsTuple(copy.old_shape)) return "";
  return fmt::format(" at {{{}}}",
                     fmt::join(run.module.shapes().IndexOf(copy.old_shape, part.leaf), ","));
}

std::string Multiplier(const Cause& cause) {
  if (!cause.multiplier_known) return "in a loop";
  return cause.multiplier == 1 ? "" : fmt::format("x{}", cause.multiplier);
}

std::string SummaryLine(const ExplainedRun& run) {
  const Explanation& e = run.explanation;
  std::string out;
  if (e.copies.empty()) {
    out = "Layout assignment inserts no copies into this module.\n";
  } else {
    out = fmt::format("Layout assignment inserts {} from {}: {} per run",
                      Plural(e.copies.size(), "copy", "copies"),
                      Plural(e.causes.size(), "cause", "causes"), HumanBytes(e.logical_bytes));
    if (e.padded_bytes != e.logical_bytes)
      out += fmt::format(", {} with padding", HumanBytes(e.padded_bytes));
    if (e.parameter_bytes > 0) {
      out += fmt::format(
          "; {:.3g}% of the {} of parameters",
          100.0 * static_cast<double>(e.logical_bytes) / static_cast<double>(e.parameter_bytes),
          HumanBytes(e.parameter_bytes));
    }
    out += ".\n";
  }
  if (e.copies_in_input != 0) {
    out += fmt::format("{} in the input already; {} not counted.\n",
                       Plural(e.copies_in_input, "copy is", "copies are"),
                       e.copies_in_input == 1 ? "it is" : "they are");
  }
  if (e.preparatory_copies != 0) {
    out += fmt::format("{} in front of sends and aliasing custom calls whatever the layouts are.\n",
                       Plural(e.preparatory_copies, "copy is put", "copies are put"));
  }
  return out;
}

}  // namespace

std::string SummaryText(const ExplainedRun& run, size_t most) {
  const Explanation& e = run.explanation;
  std::string out = SummaryLine(run);
  if (e.causes.empty()) return out + MemorySpacesText(run);
  std::vector<std::vector<std::string>> rows = {
      {"id", "class", "copies", "bytes", "padded", "loop", "first of them"}};
  std::vector<std::string> details = {""};
  for (size_t i = 0; i < std::min(most, e.causes.size()); ++i) {
    const Cause& cause = e.causes[i];
    const ExplainedCopy& first = e.copies[cause.copies[0]];
    const AddedCopy& copy = run.report.copies[first.added];
    const AddedArrayCopy& part = run.report.parts[first.part];
    rows.push_back({cause.id, std::string(CopyChangeName(cause.copy_class)),
                    std::to_string(cause.copies.size()), HumanBytes(cause.logical_bytes),
                    HumanBytes(cause.padded_bytes), Multiplier(cause),
                    fmt::format("{} = {}{}", Named(run, part.copy), Named(run, copy.source),
                                PartPath(run, copy, part))});
    std::string source = SourceOfCopy(run, copy);
    std::string op_name = OpNameOfCopy(run, copy);
    std::string detail;
    detail += fmt::format("      wants   {} for {}: {}\n", LayoutOf(run, part.to),
                          ConsumerText(run, copy), cause.winning.description);
    detail +=
        fmt::format("      has     {}: {}\n", LayoutOf(run, part.from), cause.losing.description);
    if (!source.empty() || !op_name.empty()) {
      detail += fmt::format("      source  {}{}{}\n", source,
                            source.empty() || op_name.empty() ? "" : "  ", op_name);
    }
    if (!cause.way_out.empty()) detail += fmt::format("      way out {}\n", cause.way_out);
    details.push_back(std::move(detail));
  }
  std::string table = Table(rows, "lrrrrll");
  out += '\n';
  size_t row = 0;
  for (size_t at = 0; at < table.size(); ++row) {
    size_t end = table.find('\n', at) + 1;
    out += table.substr(at, end - at) + details[row];
    at = end;
  }
  if (e.causes.size() > most) {
    out += fmt::format("\n{} more rows: --most {}\n", e.causes.size() - most, e.causes.size());
  }
  out += MemorySpacesText(run);
  out += fmt::format("\nNext: hlokit explain FILE {} shows how this came about, hop by hop.\n",
                     e.causes[0].id);
  return out;
}

namespace {

Json OriginJson(const ExplainedRun& run, const Origin& origin) {
  Json out = {{"kind", OriginName(origin.kind)}, {"description", origin.description}};
  if (origin.instruction.valid()) out["instruction"] = run.module.name(origin.instruction);
  if (origin.parameter >= 0) out["parameter"] = origin.parameter;
  if (!origin.rule.empty()) out["rule"] = origin.rule;
  if (!origin.link.empty()) out["link"] = origin.link;
  return out;
}

Json CopyJson(const ExplainedRun& run, uint32_t index) {
  const Module& module = run.module;
  const ExplainedCopy& explained = run.explanation.copies[index];
  const AddedCopy& copy = run.report.copies[explained.added];
  const AddedArrayCopy& part = run.report.parts[explained.part];
  Json out = {{"name", module.name(part.copy)},
              {"cause", run.explanation.causes[explained.cause].id},
              {"reason", CopyReasonName(copy.reason)},
              {"computation", module.name(copy.computation)},
              {"shape", module.shapes().Text(module.shape(part.copy), false)},
              {"from", LayoutOf(run, part.from)},
              {"to", LayoutOf(run, part.to)},
              {"value", module.name(copy.source)}};
  if (copy.reason != CopyReason::kRoot && copy.consumer.valid()) {
    out["consumer"] = module.name(copy.consumer);
    out["operand"] = copy.operand;
  }
  out["logical_bytes"] = explained.logical_bytes;
  out["padded_bytes"] = explained.padded_bytes;
  if (std::string source = SourceOfCopy(run, copy); !source.empty()) out["source"] = source;
  if (std::string name = OpNameOfCopy(run, copy); !name.empty()) out["op_name"] = name;
  return out;
}

Json CauseJson(const ExplainedRun& run, const Cause& cause) {
  Json out = {{"id", cause.id},
              {"class", CopyChangeName(cause.copy_class)},
              {"copies", cause.copies.size()},
              {"logical_bytes", cause.logical_bytes},
              {"padded_bytes", cause.padded_bytes},
              {"loop_multiplier", cause.multiplier},
              {"loop_multiplier_known", cause.multiplier_known},
              {"demanded_by", OriginJson(run, cause.winning)},
              {"refused_by", OriginJson(run, cause.losing)}};
  if (!cause.way_out.empty()) out["way_out"] = cause.way_out;
  return out;
}

Json TotalsJson(const ExplainedRun& run) {
  const Explanation& e = run.explanation;
  return {{"copies", e.copies.size()},
          {"causes", e.causes.size()},
          {"logical_bytes", e.logical_bytes},
          {"padded_bytes", e.padded_bytes},
          {"parameter_bytes", e.parameter_bytes},
          {"copies_in_input", e.copies_in_input},
          {"preparatory_copies", e.preparatory_copies}};
}

}  // namespace

Json SummaryJson(const ExplainedRun& run) {
  Json causes = Json::array();
  for (const Cause& cause : run.explanation.causes) causes.push_back(CauseJson(run, cause));
  Json copies = Json::array();
  for (uint32_t i = 0; i < run.explanation.copies.size(); ++i) copies.push_back(CopyJson(run, i));
  Json out = {{"schema", "hlokit.explain/1"},
              {"module", run.module.config().name},
              {"summary", TotalsJson(run)},
              {"causes", causes},
              {"copies", copies}};
  if (run.device.backend != Backend::kGeneric) {
    out["device"] = {{"name", run.device.name}, {"backend", BackendName(run.device.backend)}};
  }
  out["memory_spaces"] = MemorySpacesJson(run);
  return out;
}

// ---- one copy ----

namespace {

std::string Flags(const HopText& hop) {
  return fmt::format("{}{}priority {}", hop.mandatory ? "mandatory, " : "",
                     hop.dfs ? "depth first, " : "", hop.priority);
}

std::string RequestLine(const ExplainedRun& run, EventId id) {
  HopText hop = DescribeHop(run.module, run.trace, {id, 0});
  return fmt::format(
      "{} {}: {} [{} {}] {}", hop.layout, hop.instruction.empty() ? "" : "at %" + hop.instruction,
      hop.outcome, hop.backend_rule.empty() ? hop.rule : hop.backend_rule, hop.section, Flags(hop));
}

}  // namespace

std::string ChainText(const ExplainedRun& run, CauseHop hop, bool all, std::string_view indent) {
  std::vector<HopText> chain = DescribeChain(run.module, run.trace, hop);
  if (chain.empty()) return fmt::format("{}no demand was recorded\n", indent);
  std::string out;
  int round = -1;
  for (size_t i = 0; i < chain.size(); ++i) {
    const HopText& h = chain[i];
    if (h.round != round && (round >= 0 || h.round != 0))
      out += fmt::format("{}round {}\n", indent, h.round);
    round = h.round;
    std::string at =
        h.instruction.empty() ? "" : fmt::format(" (at %{}, {})", h.instruction, h.opcode);
    out += fmt::format("{}{:2}. {} is {}: {}{}\n", indent, i + 1, h.constraint, h.layout, h.reason,
                       at);
    std::string rule = h.backend_rule.empty() ? fmt::format("{} (section {})", h.rule,
                                                            h.section.empty() ? "-" : h.section)
                                              : fmt::format("{} ({})", h.backend_rule, h.link);
    out += fmt::format("{}    {} constraint, rule {}, {}", indent, h.kind, rule, Flags(h));
    if (!h.source.empty()) out += ", " + h.source;
    out += '\n';
    if (all) {
      for (EventId id : RequestsOn(run.trace, h.event)) {
        if (id != h.event)
          out += fmt::format("{}      also asked: {}\n", indent, RequestLine(run, id));
      }
    }
  }
  return out;
}

Json ChainJson(const ExplainedRun& run, CauseHop hop, bool all) {
  Json out = Json::array();
  for (const HopText& h : DescribeChain(run.module, run.trace, hop)) {
    Json entry = {{"constraint", h.constraint}, {"kind", h.kind},
                  {"layout", h.layout},         {"rule", h.rule},
                  {"section", h.section},       {"reason", h.reason},
                  {"mandatory", h.mandatory},   {"depth_first", h.dfs},
                  {"priority", h.priority},     {"round", h.round}};
    if (!h.instruction.empty()) {
      entry["instruction"] = h.instruction;
      entry["opcode"] = h.opcode;
    }
    if (!h.backend_rule.empty()) entry["backend_rule"] = h.backend_rule;
    if (!h.link.empty()) entry["link"] = h.link;
    if (!h.source.empty()) entry["source"] = h.source;
    if (!h.op_name.empty()) entry["op_name"] = h.op_name;
    if (all) {
      Json requests = Json::array();
      for (EventId id : RequestsOn(run.trace, h.event)) {
        HopText r = DescribeHop(run.module, run.trace, {id, 0});
        requests.push_back({{"layout", r.layout},
                            {"rule", r.rule},
                            {"instruction", r.instruction},
                            {"outcome", r.outcome},
                            {"mandatory", r.mandatory},
                            {"depth_first", r.dfs},
                            {"priority", r.priority}});
      }
      entry["requests"] = requests;
    }
    out.push_back(entry);
  }
  return out;
}

std::string DetailText(const ExplainedRun& run, std::span<const uint32_t> copies,
                       const std::optional<WhatIf>& what_if, bool all) {
  const ExplainedCopy& explained = run.explanation.copies[copies[0]];
  const Cause& cause = run.explanation.causes[explained.cause];
  const AddedCopy& copy = run.report.copies[explained.added];
  const AddedArrayCopy& part = run.report.parts[explained.part];
  std::string out = fmt::format("{}\n", PrintInstruction(run.module, part.copy));
  out += fmt::format("  in %{}, {}{} per execution{}\n", run.module.name(copy.computation),
                     HumanBytes(explained.logical_bytes),
                     explained.padded_bytes == explained.logical_bytes
                         ? ""
                         : fmt::format(" ({} with padding)", HumanBytes(explained.padded_bytes)),
                     Multiplier(cause).empty() ? "" : ", " + Multiplier(cause));
  out += fmt::format("  copies {}{} from {} to {} for {}\n", Named(run, copy.source),
                     PartPath(run, copy, part), LayoutOf(run, part.from), LayoutOf(run, part.to),
                     ConsumerText(run, copy));
  out += fmt::format("\nThe demand that lost: why the value has {}\n", LayoutOf(run, part.from));
  out += ChainText(run, part.losing, all, "  ");
  out += fmt::format("\nThe demand that won: why {} gets {}\n", ConsumerText(run, copy),
                     LayoutOf(run, part.to));
  out += ChainText(run, part.winning, all, "  ");
  if (!cause.way_out.empty()) {
    out += fmt::format("\nWay out: {}\n", cause.way_out);
    if (what_if) {
      int64_t copies_now = static_cast<int64_t>(run.explanation.copies.size());
      out += fmt::format("  checked by running it: {} -> {} copies, {} -> {} per run\n", copies_now,
                         what_if->copies, HumanBytes(run.explanation.logical_bytes),
                         HumanBytes(what_if->logical_bytes));
    }
  }
  if (cause.copies.size() > 1) {
    out += fmt::format("\n{} has {} copies:\n", cause.id, cause.copies.size());
    constexpr size_t kShown = 20;
    for (size_t i = 0; i < std::min(kShown, cause.copies.size()); ++i) {
      const AddedCopy& other = run.report.copies[run.explanation.copies[cause.copies[i]].added];
      out += fmt::format(
          "  {}  for {}\n",
          Named(run, run.report.parts[run.explanation.copies[cause.copies[i]].part].copy),
          ConsumerText(run, other));
    }
    if (cause.copies.size() > kShown)
      out += fmt::format("  and {} more\n", cause.copies.size() - kShown);
  }
  return out;
}

Json DetailJson(const ExplainedRun& run, std::span<const uint32_t> copies,
                const std::optional<WhatIf>& what_if, bool all) {
  const Cause& cause = run.explanation.causes[run.explanation.copies[copies[0]].cause];
  Json list = Json::array();
  for (uint32_t index : copies) {
    const AddedArrayCopy& part = run.report.parts[run.explanation.copies[index].part];
    Json entry = CopyJson(run, index);
    entry["losing_chain"] = ChainJson(run, part.losing, all);
    entry["winning_chain"] = ChainJson(run, part.winning, all);
    list.push_back(entry);
  }
  Json out = {{"schema", "hlokit.explain-copy/1"},
              {"module", run.module.config().name},
              {"cause", CauseJson(run, cause)},
              {"copies", list}};
  if (what_if)
    out["what_if"] = {{"copies", what_if->copies}, {"logical_bytes", what_if->logical_bytes}};
  return out;
}

}  // namespace hlokit::cli
