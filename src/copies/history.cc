// At which stage of a compilation does each copy appear, and at which is it gone?
#include <algorithm>
#include <unordered_map>

#include "fmt/format.h"
#include "hlokit/copies.h"
#include "src/copies/classifier.h"
#include "src/copies/index_map.h"

namespace hlokit {
namespace {

/// Opcode, operand names and shape: what is left when a pass gives a new name.
std::string SignatureOf(const Module& module, const ClassifiedCopy& copy) {
  std::string out = fmt::format("{}", CopyFormName(copy.form));
  for (InstId operand : module.operands(copy.inst)) out += fmt::format(" {}", module.name(operand));
  return out + " " + module.shapes().Text(module.shape(copy.inst));
}

/// A copy that changes the order and has the metadata of its operand; without any metadata the
/// default name has to speak.
bool LooksLikeLayoutAssignment(const Module& module, InstId copy) {
  const InstId operand = module.operand(copy, 0);
  const ShapeId from = module.shape(operand), to = module.shape(copy);
  if (!module.shapes().IsArray(from) || SameOrder(module.shapes(), from, to)) return false;
  const std::string_view metadata = module.TextAttr(copy, AttrKind::kMetadata);
  if (metadata != module.TextAttr(operand, AttrKind::kMetadata)) return false;
  const std::string_view name = module.name(copy);
  return !metadata.empty() || name == "copy" || name.starts_with("copy.");
}

/// Arithmetic in another order than the default one.
bool HasChosenLayout(const Module& module, InstId inst) {
  const ShapePool& shapes = module.shapes();
  const ShapeId shape = module.shape(inst);
  if (Info(module.opcode(inst)).layout_rule != LayoutRule::kKeeps) return false;
  if (module.operand_count(inst) == 0 || !IsElementByElement(module, inst)) return false;
  if (!shapes.IsArray(shape) || !shapes.layout(shape).valid()) return false;
  std::span<const int64_t> order = shapes.minor_to_major(shapes.layout(shape));
  return !std::is_sorted(order.rbegin(), order.rend());
}

}  // namespace

bool LooksUnoptimised(const Module& module) {
  if (module.config().is_scheduled) return false;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      const Opcode opcode = module.opcode(inst);
      if (opcode == Opcode::kBitcast || opcode == Opcode::kFusion) return false;
      if (opcode == Opcode::kCopy ? LooksLikeLayoutAssignment(module, inst)
                                  : HasChosenLayout(module, inst)) {
        return false;
      }
    }
  }
  return true;
}

void CopyHistory::AddStage(const std::string& stage, const std::string& pass,
                           const Module& module) {
  CopyReport report = ClassifyCopies(module, {.live_ranges = false});
  int number = static_cast<int>(stages_.size());
  stages_.push_back({stage, pass, report.copies.size()});
  std::unordered_map<std::string, uint32_t> by_name, by_signature;
  for (uint32_t track : alive_) {
    by_name.emplace(tracks_[track].name, track);
    by_signature.emplace(signatures_[track], track);
  }
  std::vector<uint8_t> taken(tracks_.size(), 0);
  std::vector<uint32_t> alive, fresh;
  std::vector<const ClassifiedCopy*> unmatched;
  auto keep = [&](uint32_t track, const ClassifiedCopy& copy) {
    taken[track] = 1;
    tracks_[track].name = module.name(copy.inst);
    tracks_[track].last_stage = number;
    signatures_[track] = SignatureOf(module, copy);
    alive.push_back(track);
  };
  for (const ClassifiedCopy& copy : report.copies) {
    auto found = by_name.find(std::string(module.name(copy.inst)));
    if (found != by_name.end() && !taken[found->second] &&
        tracks_[found->second].form == copy.form) {
      keep(found->second, copy);
    } else {
      unmatched.push_back(&copy);
    }
  }
  for (const ClassifiedCopy* copy : unmatched) {
    auto found = by_signature.find(SignatureOf(module, *copy));
    if (found != by_signature.end() && !taken[found->second]) {
      keep(found->second, *copy);
      continue;
    }
    uint32_t track = static_cast<uint32_t>(tracks_.size());
    tracks_.push_back({.name = std::string(module.name(copy->inst)),
                       .computation = std::string(module.name(module.computation_of(copy->inst))),
                       .shape = module.shapes().Text(copy->to),
                       .form = copy->form,
                       .bytes = copy->bytes,
                       .first_stage = number,
                       .last_stage = number});
    signatures_.push_back(SignatureOf(module, *copy));
    alive.push_back(track);
    fresh.push_back(track);
  }
  std::unordered_map<int64_t, std::vector<uint32_t>> fresh_by_bytes;
  for (size_t i = fresh.size(); i-- > 0;) {
    fresh_by_bytes[tracks_[fresh[i]].bytes].push_back(fresh[i]);
  }
  for (uint32_t track : alive_) {
    if (taken[track]) continue;
    std::vector<uint32_t>& candidates = fresh_by_bytes[tracks_[track].bytes];
    // Layout normalisation turns a copy into a transpose of the same elements.
    if (candidates.empty() || tracks_[candidates.back()].form == tracks_[track].form) continue;
    tracks_[track].became = static_cast<int>(candidates.back());
    candidates.pop_back();
  }
  alive_ = std::move(alive);
}

namespace {

struct PassVerdict {
  std::string_view part;  // of the name of the pass
  CopyClass copy_class;
  std::string_view origin;
};
/// The first row whose part is in the name counts.
constexpr PassVerdict kPasses[] = {
    {"layout-assignment", CopyClass::kLayout, "layout assignment"},
    {"layout_assignment", CopyClass::kLayout, "layout assignment"},
    {"copy-insertion", CopyClass::kLifetime, "copy insertion"},
    {"copy_insertion", CopyClass::kLifetime, "copy insertion"},
    {"adding_copies", CopyClass::kLifetime, "copy insertion"},
    {"special-case_copies", CopyClass::kLifetime, "copy insertion"},
    {"unnecessary_copies", CopyClass::kLifetime, "copy insertion"},
    {"reshape-decomposer", CopyClass::kLayout, "reshape decomposer"},
    {"layout-normalization", CopyClass::kLayout, "layout normalisation of a copy"},
    {"layout_normalization", CopyClass::kLayout, "layout normalisation of a copy"},
    {"host-offload", CopyClass::kMemorySpace, "host offloading"},
    {"memory-space", CopyClass::kMemorySpace, "memory space assignment"},
};

}  // namespace

void CopyHistory::Refine(const Module& last, bool from_source, CopyReport& report) const {
  std::unordered_map<std::string, uint32_t> by_name;
  for (uint32_t track : alive_) by_name.emplace(tracks_[track].name, track);
  for (ClassifiedCopy& copy : report.copies) {
    auto found = by_name.find(std::string(last.name(copy.inst)));
    if (found == by_name.end()) continue;
    const CopyTrack& track = tracks_[found->second];
    const Stage& stage = stages_[static_cast<size_t>(track.first_stage)];
    if (track.first_stage == 0) {
      copy.evidence.insert(copy.evidence.begin(),
                           {"stage", fmt::format("it is there from {} on", stage.name)});
      if (from_source && copy.copy_class != CopyClass::kMemorySpace &&
          copy.form == CopyForm::kCopy) {
        copy.copy_class = CopyClass::kUser;
        copy.confidence = copy.origin_confidence = Confidence::kHigh;
        copy.origin = "the program";
      }
      continue;
    }
    copy.evidence.insert(copy.evidence.begin(),
                         {"stage", fmt::format("it first appears in {}", stage.name)});
    // Only a file may be named after a pass, not the folders above it.
    const std::string file = stage.name.substr(stage.name.rfind('/') + 1);
    for (const PassVerdict& row : kPasses) {
      if (stage.pass.find(row.part) == std::string::npos &&
          file.find(row.part) == std::string::npos) {
        continue;
      }
      copy.copy_class = row.copy_class;
      copy.confidence = copy.origin_confidence = Confidence::kHigh;
      copy.origin = row.origin;
      break;
    }
  }
}

}  // namespace hlokit
