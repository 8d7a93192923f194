// How does a finding get its place and its text?
#include <algorithm>

#include "hlokit/printer.h"
#include "src/verify/checker.h"

namespace hlokit {
namespace {

/// An instruction line for instructions that are not in a source text; long ones are cut.
std::string Brief(const Module& module, InstId id) {
  std::string line = PrintInstruction(module, id);
  constexpr size_t kMost = 200;
  if (line.size() > kMost) {
    line.resize(kMost);
    line += " …";
  }
  return line;
}

}  // namespace

void Checker::FillLocation(InstId inst, Diagnostic* diagnostic) {
  diagnostic->location = source_map_.Location(inst);
  if (diagnostic->location.line == 0) {
    // Made by a pass: show the instruction itself.
    if (!structure_is_sound_) return;
    diagnostic->message += "\n  " + Brief(module_, inst);
    return;
  }
  std::string_view line = source_map_.Line(diagnostic->location.line);
  constexpr size_t kLongest = 4096;
  size_t most = std::max<size_t>(kLongest, diagnostic->location.column + 200);
  diagnostic->source_line = line.substr(0, most);
}

void Checker::AddInstructionFinding(InstId inst, DiagId id, Severity severity,
                                    std::string message) {
  if (findings_.size() >= options_.max_findings) {
    ++finding_count_;
    error_count_ += severity == Severity::kError ? 1 : 0;
    return;
  }
  CompId comp = module_.computation_of(inst);
  std::string_view comp_name = comp.value < module_.computation_count() ? Name(comp) : "?";
  AddFinding(inst, comp, id, severity,
             fmt::format("%{} in %{}: {}", Name(inst), comp_name, message));
}

void Checker::AddFinding(InstId inst, CompId comp, DiagId id, Severity severity,
                         std::string message) {
  if (severity != Severity::kNote) ++finding_count_;
  if (severity == Severity::kError) ++error_count_;
  if (findings_.size() >= options_.max_findings && severity != Severity::kNote) return;
  VerifierFinding finding{
      .diagnostic = {.id = id, .severity = severity, .message = std::move(message)},
      .instruction = inst,
      .computation = comp};
  if (inst.valid()) FillLocation(inst, &finding.diagnostic);
  if (comp.valid() && !inst.valid()) {
    finding.diagnostic.message = fmt::format("%{}: {}", Name(comp), finding.diagnostic.message);
  }
  findings_.push_back(std::move(finding));
}

void Checker::Help(std::string text) {
  if (findings_.empty() || finding_count_ != findings_.size()) return;
  findings_.back().diagnostic.help = std::move(text);
}

std::string Checker::IndexText(std::span<const int64_t> index) {
  return fmt::format("{{{}}}", fmt::join(index, ","));
}

ShapeId Checker::ShapeAt(ShapeId shape, std::span<const int64_t> index) const {
  for (int64_t step : index) {
    if (!shapes_.IsTuple(shape) || step < 0 || step >= shapes_.element_count(shape)) return {};
    shape = shapes_.element(shape, static_cast<uint32_t>(step));
  }
  return shape;
}

bool Checker::Same(ShapeId a, ShapeId b) const {
  if (a == b) return true;
  if (!shapes_.Compatible(a, b)) return false;
  if (!options_.layout_sensitive) return true;
  if (!shapes_[a].has_dynamic && !shapes_[b].has_dynamic) return false;
  std::vector<ShapeId> left = shapes_.Subshapes(a);
  std::vector<ShapeId> right = shapes_.Subshapes(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (shapes_.layout(left[i]) != shapes_.layout(right[i])) return false;
  }
  return true;
}

bool Checker::SameIgnoringMemorySpace(ShapeId a, ShapeId b) const {
  return Same(shapes_.WithoutMemorySpaces(a), shapes_.WithoutMemorySpaces(b));
}

}  // namespace hlokit
