// Which fusions are copies in disguise?
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "src/copies/classifier.h"
#include "src/copies/index_map.h"

namespace hlokit {
namespace {

/// How one output of a fusion reads one parameter of the same size.
struct Reading {
  InstId parameter;
  IndexMap map;
};

class FusionReader {
 public:
  FusionReader(const CopyContext& context, InstId fusion)
      : module_(context.module()),
        shapes_(module_.shapes()),
        fusion_(fusion),
        body_(module_.to_apply(fusion)) {}
  std::optional<ClassifiedCopy> Classify();

 private:
  void ReadOutput(InstId root);
  bool OnlyCopies(InstId root) const;
  bool GivesOneValueTwice() const;
  void DescribePricedOutput(ClassifiedCopy& copy, InstId root) const;

  const Module& module_;
  const ShapePool& shapes_;
  InstId fusion_;
  CompId body_;
  std::vector<InstId> roots_;
  std::vector<Reading> readings_;
  std::vector<InstId> arithmetic_, movers_;
  bool lost_ = false;  // some path ended at an opcode that moves elements in other ways
};

/// Goes from an output to the parameters; every instruction is visited once, on its first path.
void FusionReader::ReadOutput(InstId root) {
  if (!shapes_.IsArray(module_.shape(root))) return;
  int64_t elements = shapes_.ElementCount(module_.shape(root));
  std::vector<std::pair<InstId, IndexMap>> work = {{root, IndexMap::Identity(elements)}};
  std::map<uint32_t, bool> seen;
  for (size_t at = 0; at < work.size(); ++at) {
    InstId inst = work[at].first;
    if (module_.opcode(inst) == Opcode::kParameter) {
      readings_.push_back({inst, work[at].second});
      continue;
    }
    Opcode opcode = module_.opcode(inst);
    bool moves = opcode == Opcode::kTranspose || opcode == Opcode::kCopy ||
                 opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
    if (moves && opcode != Opcode::kBitcast) movers_.push_back(inst);
    if (!moves && module_.operand_count(inst) > 0) arithmetic_.push_back(inst);
    for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
      InstId operand = module_.operand(inst, i);
      if (!shapes_.IsArray(module_.shape(operand)) ||
          shapes_.ElementCount(module_.shape(operand)) != elements) {
        continue;  // small things: scalars, rows that are broadcast
      }
      IndexMap map = work[at].second;
      if (!StepThrough(module_, inst, i, map)) {
        lost_ = true;
        continue;
      }
      if (seen.emplace(operand.value, true).second) work.emplace_back(operand, std::move(map));
    }
  }
}

bool FusionReader::OnlyCopies(InstId root) const {
  while (module_.opcode(root) == Opcode::kCopy || module_.opcode(root) == Opcode::kBitcast) {
    root = module_.operand(root, 0);
  }
  return module_.opcode(root) == Opcode::kParameter;
}

bool FusionReader::GivesOneValueTwice() const {
  for (InstId root : roots_) {
    if (module_.opcode(root) != Opcode::kCopy) continue;
    InstId value = module_.operand(root, 0);
    if (std::find(roots_.begin(), roots_.end(), value) != roots_.end()) return true;
  }
  return false;
}

void FusionReader::DescribePricedOutput(ClassifiedCopy& copy, InstId root) const {
  copy.to = module_.shape(root);
  copy.bytes = shapes_.LogicalBytes(copy.to);
}

std::optional<ClassifiedCopy> FusionReader::Classify() {
  InstId root = module_.computation(body_).root;
  if (module_.opcode(root) == Opcode::kTuple) {
    std::span<const InstId> all = module_.operands(root);
    roots_.assign(all.begin(), all.end());
  } else {
    roots_.push_back(root);
  }
  ClassifiedCopy copy;
  copy.inst = fusion_;
  if (GivesOneValueTwice()) {
    copy.form = CopyForm::kFusedCopy;
    copy.copy_class = CopyClass::kLifetime;
    copy.confidence = copy.origin_confidence = Confidence::kHigh;
    copy.origin = "copy insertion, fused later";
    copy.evidence.push_back({"C.5", "the fusion gives out one value twice, once as a copy"});
    for (InstId one : roots_) {
      if (module_.opcode(one) == Opcode::kCopy) DescribePricedOutput(copy, one);
    }
    copy.from = copy.to;
    copy.permutation = {0};
    return copy;
  }
  const Reading* moved = nullptr;
  for (InstId one : roots_) {
    size_t first = readings_.size();
    ReadOutput(one);
    for (size_t i = first; i < readings_.size() && moved == nullptr; ++i) {
      if (readings_[i].map.IsIdentity()) continue;
      moved = &readings_[i];
      DescribePricedOutput(copy, one);
    }
    if (moved != nullptr) break;
  }
  std::string name(module_.name(fusion_));
  bool named =
      name.find("transpose") != std::string::npos || name.find("copy") != std::string::npos;
  if (moved == nullptr) {
    if (!std::all_of(roots_.begin(), roots_.end(), [&](InstId one) { return OnlyCopies(one); }) ||
        roots_.empty() || readings_.empty()) {
      return std::nullopt;
    }
    copy.form = CopyForm::kMemcpyFusion;
    copy.copy_class = CopyClass::kLifetime;
    copy.confidence = copy.origin_confidence = Confidence::kMedium;
    copy.origin = "copy insertion, fused later";
    copy.evidence.push_back({"C.5", "every output is a copy of a parameter in the same order"});
    DescribePricedOutput(copy, roots_[0]);
    copy.from = module_.shape(readings_[0].parameter);
    copy.permutation = {0};
    return copy;
  }
  copy.form = CopyForm::kFusedLayout;
  copy.copy_class = CopyClass::kLayout;
  copy.from = module_.shape(moved->parameter);
  copy.permutation = moved->map.Permutation();
  copy.keeps_rows = moved->map.KeepsRows();
  copy.arithmetic = arithmetic_;
  bool simple = movers_.size() == 1 && !lost_ && readings_.size() == 1;
  copy.confidence = simple ? Confidence::kHigh : Confidence::kMedium;
  copy.origin = "a layout change or a transpose, fused";
  copy.origin_confidence = Confidence::kMedium;
  copy.evidence.push_back({"C.5", fmt::format("it reads %{} in another order than it writes",
                                              module_.name(moved->parameter))});
  if (named) copy.evidence.push_back({"C.3", "its name says so too"});
  if (readings_.size() > 1)
    copy.evidence.push_back({"C.5", "it reads other values of this size as well"});
  return copy;
}

}  // namespace

std::optional<ClassifiedCopy> ClassifyFusion(const CopyContext& context, InstId fusion) {
  if (context.module().called_computations(fusion).size() != 1) return std::nullopt;
  return FusionReader(context, fusion).Classify();
}

}  // namespace hlokit
