// How does the list of classified copies look, as text and as JSON?
#include "src/cli/copies_output.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

#include "fmt/format.h"
#include "hlokit/explain.h"
#include "nlohmann/json.hpp"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Named(const Module& module, InstId inst) {
  return fmt::format("%{}", module.name(inst));
}

std::string Plural(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// Bytes that the copy writes per run.
int64_t BytesPerRun(const ClassifiedCopy& copy) {
  int64_t out;
  if (!copy.moves) return 0;
  if (__builtin_mul_overflow(copy.bytes, copy.times, &out))
    return std::numeric_limits<int64_t>::max();
  return out;
}

struct ClassSum {
  uint64_t copies = 0;
  int64_t bytes = 0;
};

std::vector<ClassSum> SumByClass(const CopyReport& report) {
  std::vector<ClassSum> sums(static_cast<size_t>(CopyClass::kUnknown) + 1);
  for (const ClassifiedCopy& copy : report.copies) {
    ClassSum& sum = sums[static_cast<size_t>(copy.copy_class)];
    ++sum.copies;
    if (__builtin_add_overflow(sum.bytes, BytesPerRun(copy), &sum.bytes))
      sum.bytes = std::numeric_limits<int64_t>::max();
  }
  return sums;
}

std::string LayoutOf(const Module& module, ShapeId shape) {
  LayoutId layout = module.shapes().layout(shape);
  return layout.valid() ? module.shapes().LayoutText(layout) : std::string("unset");
}

std::string LoopText(const ClassifiedCopy& copy) {
  if (!copy.times_known) return "in a loop";
  return copy.times == 1 ? "" : fmt::format("x{}", copy.times);
}

std::string Path(const Module& module, std::span<const InstId> steps) {
  std::string out;
  for (InstId inst : steps) {
    if (!out.empty()) out += ", ";
    out += fmt::format("%{} ({})", module.name(inst), OpcodeText(module.opcode(inst)));
  }
  return out;
}

/// From -> to, in as few words as do.
std::string Change(const Module& module, const ClassifiedCopy& copy) {
  if (!copy.from.valid() || !copy.to.valid()) return "";
  const ShapePool& shapes = module.shapes();
  if (copy.from == copy.to) return shapes.Text(copy.to);
  if (shapes.ClearLayouts(copy.from) == shapes.ClearLayouts(copy.to)) {
    return fmt::format("{} to {}", shapes.Text(copy.from), LayoutOf(module, copy.to));
  }
  return fmt::format("{} to {}", shapes.Text(copy.from), shapes.Text(copy.to));
}

std::string SummaryLines(const CopiesView& view) {
  std::string out;
  std::vector<ClassSum> sums = SumByClass(view.report);
  if (view.report.copies.empty()) {
    out = view.only.empty() ? std::string("The module holds no copies.\n")
                            : fmt::format("The module holds no copies of class {}.\n", view.only);
  } else {
    out = Plural(view.report.copies.size(), "copy", "copies") + ":";
    bool first = true;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].copies == 0) continue;
      out += fmt::format("{} {} {} ({})", first ? "" : ",", sums[i].copies,
                         CopyClassName(static_cast<CopyClass>(i)), HumanBytes(sums[i].bytes));
      first = false;
    }
    out += " per run.\n";
  }
  if (view.report.free_bitcasts != 0) {
    out += fmt::format("{} {} nothing and {} not listed.\n",
                       Plural(view.report.free_bitcasts, "bitcast", "bitcasts"),
                       view.report.free_bitcasts == 1 ? "costs" : "cost",
                       view.report.free_bitcasts == 1 ? "is" : "are");
  }
  return out;
}

std::string StageText(const CopyHistory& history, size_t most) {
  std::string out = "\nStages:\n";
  const std::vector<CopyHistory::Stage>& stages = history.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    out += fmt::format("  {}  {}\n", stages[i].name, Plural(stages[i].copies, "copy", "copies"));
    size_t shown = 0;
    for (const CopyTrack& track : history.tracks()) {
      bool added = track.first_stage == static_cast<int>(i) && i != 0;
      bool gone = track.last_stage + 1 == static_cast<int>(i);
      if (!added && !gone) continue;
      if (++shown > most) continue;
      out += fmt::format("    {} %{} {}", added ? '+' : '-', track.name, track.shape);
      if (gone && track.became >= 0) {
        out += fmt::format(", now %{}", history.tracks()[static_cast<size_t>(track.became)].name);
      }
      out += '\n';
    }
    if (shown > most) out += fmt::format("    {} more: --most {}\n", shown - most, shown);
  }
  return out;
}

}  // namespace

std::string CopyLines(const Module& module, const ClassifiedCopy& copy, bool chains) {
  std::string out;
  out +=
      fmt::format("      by      {} ({})\n", copy.origin, ConfidenceName(copy.origin_confidence));
  std::string_view label = "why";
  for (const CopyEvidence& evidence : copy.evidence) {
    out += fmt::format("      {:<7} {}: {}\n", label, evidence.rule, evidence.text);
    label = "";
  }
  if (!copy.has.empty())
    out += fmt::format("      has     {}: {}\n", LayoutOf(module, copy.has_shape), copy.has);
  if (chains && !copy.upstream.empty())
    out += fmt::format("      from    {}\n", Path(module, copy.upstream));
  if (!copy.wants.empty())
    out += fmt::format("      wants   {}: {}\n", LayoutOf(module, copy.wants_shape), copy.wants);
  if (chains && !copy.downstream.empty())
    out += fmt::format("      to      {}\n", Path(module, copy.downstream));
  if (!copy.arithmetic.empty() && chains)
    out += fmt::format("      with    {}\n", Path(module, copy.arithmetic));
  if (chains && copy.moves && copy.permutation.size() > 1) {
    out += fmt::format("      moves   blocks {}{}\n", fmt::join(copy.permutation, ","),
                       copy.keeps_rows ? "; rows stay together" : "; the innermost one changes");
  }
  std::string source = SourceOf(module, copy.inst);
  if (source.empty() && copy.consumer.valid()) source = SourceOf(module, copy.consumer);
  if (!source.empty()) out += fmt::format("      source  {}\n", source);
  return out;
}

std::string CopiesText(const CopiesView& view) {
  const Module& module = *view.module;
  std::string out = SummaryLines(view);
  if (view.history != nullptr) out += StageText(*view.history, view.most);
  if (view.report.copies.empty()) return out;
  std::vector<std::vector<std::string>> rows = {
      {"copy", "form", "class", "sure", "bytes", "loop", "change"}};
  std::vector<std::string> details = {""};
  size_t shown = std::min(view.most, view.report.copies.size());
  for (size_t i = 0; i < shown; ++i) {
    const ClassifiedCopy& copy = view.report.copies[i];
    rows.push_back(
        {Named(module, copy.inst), std::string(CopyFormName(copy.form)),
         std::string(CopyClassName(copy.copy_class)), std::string(ConfidenceName(copy.confidence)),
         copy.moves ? HumanBytes(copy.bytes) : "0 B", LoopText(copy), Change(module, copy)});
    details.push_back(CopyLines(module, copy, false));
  }
  std::string table = Table(rows, "llllrrl");
  out += '\n';
  size_t row = 0;
  for (size_t at = 0; at < table.size(); ++row) {
    size_t end = table.find('\n', at) + 1;
    out += table.substr(at, end - at) + details[row];
    at = end;
  }
  if (view.report.copies.size() > shown) {
    out += fmt::format("\n{} more copies: --most {}\n", view.report.copies.size() - shown,
                       view.report.copies.size());
  }
  return out;
}

namespace {

Json Names(const Module& module, std::span<const InstId> insts) {
  Json out = Json::array();
  for (InstId inst : insts) out.push_back(module.name(inst));
  return out;
}

Json CopyJson(const Module& module, const ClassifiedCopy& copy) {
  const ShapePool& shapes = module.shapes();
  Json out = {{"name", module.name(copy.inst)},
              {"computation", module.name(module.computation_of(copy.inst))},
              {"form", CopyFormName(copy.form)},
              {"class", CopyClassName(copy.copy_class)},
              {"confidence", ConfidenceName(copy.confidence)},
              {"origin", copy.origin},
              {"origin_confidence", ConfidenceName(copy.origin_confidence)},
              {"from", shapes.Text(copy.from)},
              {"to", shapes.Text(copy.to)},
              {"permutation", copy.permutation},
              {"moves", copy.moves},
              {"keeps_rows", copy.keeps_rows},
              {"result_bytes", copy.bytes},
              {"times", copy.times},
              {"times_known", copy.times_known}};
  if (copy.producer.valid()) out["producer"] = module.name(copy.producer);
  if (copy.consumer.valid()) {
    out["consumer"] = module.name(copy.consumer);
    out["consumer_operand"] = copy.consumer_operand;
  }
  Json evidence = Json::array();
  for (const CopyEvidence& one : copy.evidence) {
    evidence.push_back({{"rule", one.rule}, {"text", one.text}});
  }
  out["evidence"] = evidence;
  if (!copy.has.empty()) out["has"] = copy.has;
  if (!copy.wants.empty()) out["wants"] = copy.wants;
  if (copy.copy_class == CopyClass::kLayout) {
    out["upstream"] = Names(module, copy.upstream);
    out["downstream"] = Names(module, copy.downstream);
  }
  if (copy.form == CopyForm::kFusedLayout) out["arithmetic"] = Names(module, copy.arithmetic);
  return out;
}

Json HistoryJson(const CopyHistory& history) {
  Json stages = Json::array();
  for (const CopyHistory::Stage& stage : history.stages()) {
    stages.push_back({{"name", stage.name}, {"pass", stage.pass}, {"copies", stage.copies}});
  }
  Json tracks = Json::array();
  for (const CopyTrack& track : history.tracks()) {
    Json one = {{"name", track.name},
                {"computation", track.computation},
                {"shape", track.shape},
                {"form", CopyFormName(track.form)},
                {"result_bytes", track.bytes},
                {"first_stage", track.first_stage},
                {"last_stage", track.last_stage}};
    if (track.became >= 0) one["became"] = history.tracks()[static_cast<size_t>(track.became)].name;
    tracks.push_back(std::move(one));
  }
  return {{"stages", stages}, {"tracks", tracks}};
}

}  // namespace

Json CopiesJson(const CopiesView& view) {
  Json out = {{"schema", "hlokit.copies/1"}, {"module", view.module->config().name}};
  if (!view.stage.empty()) out["stage"] = view.stage;
  std::vector<ClassSum> sums = SumByClass(view.report);
  Json classes = Json::array();
  for (size_t i = 0; i < sums.size(); ++i) {
    classes.push_back({{"class", CopyClassName(static_cast<CopyClass>(i))},
                       {"copies", sums[i].copies},
                       {"result_bytes", sums[i].bytes}});
  }
  out["classes"] = classes;
  out["free_bitcasts"] = view.report.free_bitcasts;
  out["user_transposes"] = view.report.user_transposes;
  Json copies = Json::array();
  for (const ClassifiedCopy& copy : view.report.copies) {
    copies.push_back(CopyJson(*view.module, copy));
  }
  out["copies"] = copies;
  if (view.history != nullptr) out["history"] = HistoryJson(*view.history);
  return out;
}

// ---- explain ----

namespace {

std::optional<size_t> RowNamed(const Module& module, const CopyReport& report,
                               std::string_view id) {
  if (id.starts_with("%")) id.remove_prefix(1);
  for (size_t i = 0; i < report.copies.size(); ++i) {
    if (module.name(report.copies[i].inst) == id) return i;
  }
  if (!id.starts_with("C") && !id.starts_with("c")) return std::nullopt;
  id.remove_prefix(1);
  size_t row = 0;
  std::from_chars_result end = std::from_chars(id.data(), id.data() + id.size(), row);
  if (end.ec != std::errc() || end.ptr != id.data() + id.size()) return std::nullopt;
  if (row < 1 || row > report.copies.size()) return std::nullopt;
  return row - 1;
}

}  // namespace

int ExplainDump(const Module& module, const std::string& path, const std::string& id, Format format,
                size_t most) {
  CopiesView view{.module = &module, .report = ClassifyCopies(module), .most = most};
  if (id.empty()) {
    std::erase_if(view.report.copies,
                  [](const ClassifiedCopy& copy) { return copy.copy_class != CopyClass::kLayout; });
  } else {
    std::optional<size_t> row = RowNamed(module, view.report, id);
    if (!row) {
      return Report(MakeError(ExitCode::kUsage, DiagId::kNoSuchCopy,
                              fmt::format("the module holds no copy '{}'", id),
                              "`hlokit copies FILE` lists the copies of a dump")
                        .error(),
                    path);
    }
    ClassifiedCopy copy = std::move(view.report.copies[*row]);
    view.report.copies.assign(1, std::move(copy));
  }
  if (format == Format::kJson) return EmitJson(CopiesJson(view));
  if (id.empty()) return Emit(CopiesText(view));
  const ClassifiedCopy& copy = view.report.copies[0];
  return Emit(fmt::format("{}: {} copy ({}), {}, {}\n{}", Named(module, copy.inst),
                          CopyClassName(copy.copy_class), ConfidenceName(copy.confidence),
                          HumanBytes(copy.moves ? copy.bytes : 0), Change(module, copy),
                          CopyLines(module, copy, true)));
}

}  // namespace hlokit::cli
