// Which instructions of a module are copies, and what is each there for?
#include <algorithm>
#include <limits>

#include "src/copies/classifier.h"
#include "src/copies/index_map.h"

namespace hlokit {

std::string_view CopyClassName(CopyClass copy_class) {
  constexpr std::string_view kNames[] = {"layout", "lifetime", "memory-space", "user", "unknown"};
  return kNames[static_cast<size_t>(copy_class)];
}
std::string_view ConfidenceName(Confidence confidence) {
  constexpr std::string_view kNames[] = {"certain", "high", "medium", "low"};
  return kNames[static_cast<size_t>(confidence)];
}
std::string_view CopyFormName(CopyForm form) {
  constexpr std::string_view kNames[] = {"copy",         "async-copy", "transpose",    "reshape",
                                         "fused-layout", "fused-copy", "memcpy-fusion"};
  return kNames[static_cast<size_t>(form)];
}

namespace {

class Classifier {
 public:
  Classifier(const Module& module, const ClassifyOptions& options)
      : module_(module), shapes_(module.shapes()), context_(module, options) {}
  CopyReport Run();

 private:
  void Look(InstId inst);
  void AddCopy(InstId inst, InstId operand, ShapeId from, ShapeId to, CopyForm form);
  void AddMover(InstId inst);
  void AddFusion(InstId inst);
  void AddAsyncWrapper(InstId inst);
  void Finish(ClassifiedCopy copy);
  void Permute(ClassifiedCopy& copy, InstId inst);

  const Module& module_;
  const ShapePool& shapes_;
  CopyContext context_;
  CopyReport report_;
};

/// Neighbours, price and times, which all forms have.
void Classifier::Finish(ClassifiedCopy copy) {
  Executions runs = context_.ExecutionsOf(module_.computation_of(copy.inst));
  copy.times = std::max<int64_t>(runs.count, 1);
  copy.times_known = runs.known;
  copy.producer = context_.Producer(copy.inst);
  copy.consumer = context_.Consumer(copy.inst, &copy.consumer_operand);
  if (copy.copy_class == CopyClass::kLayout) TellDisagreement(context_, copy);
  report_.copies.push_back(std::move(copy));
}

void Classifier::Permute(ClassifiedCopy& copy, InstId inst) {
  IndexMap map = IndexMap::Identity(shapes_.ElementCount(copy.to));
  if (!StepThrough(module_, inst, 0, map)) return;
  copy.permutation = map.Permutation();
  copy.keeps_rows = map.KeepsRows();
  copy.moves = !map.IsIdentity();
}

void Classifier::AddCopy(InstId inst, InstId operand, ShapeId from, ShapeId to, CopyForm form) {
  (void)operand;
  ClassifiedCopy copy;
  copy.inst = inst;
  copy.form = form;
  copy.from = from;
  copy.to = to;
  copy.bytes = shapes_.LogicalBytes(to);
  if (!shapes_.IsArray(from) || !shapes_.IsArray(to)) {
    copy.evidence.push_back({"C", "a copy of a tuple: only the table of pointers is copied"});
    copy.origin = "not known";
    return Finish(std::move(copy));
  }
  if (form == CopyForm::kCopy) {
    Permute(copy, inst);
    copy.moves = true;  // equal layouts: bytes move all the same
  }
  ApplyRules(context_, copy);
  if (shapes_.ElementCount(to) == 0) copy.moves = false;
  Finish(std::move(copy));
}

/// A transpose or reshape: in a module that was optimised it is there to move elements.
void Classifier::AddMover(InstId inst) {
  ClassifiedCopy copy;
  copy.inst = inst;
  copy.form =
      module_.opcode(inst) == Opcode::kTranspose ? CopyForm::kTranspose : CopyForm::kReshape;
  copy.from = module_.shape(module_.operand(inst, 0));
  copy.to = module_.shape(inst);
  if (!shapes_.IsArray(copy.from) || !shapes_.IsArray(copy.to)) return;
  copy.bytes = shapes_.LogicalBytes(copy.to);
  Permute(copy, inst);
  if (!copy.moves) return;
  if (!context_.optimised()) {
    ++report_.user_transposes;
    return;
  }
  ClassifyTranspose(context_, copy);
  Finish(std::move(copy));
}

void Classifier::AddFusion(InstId inst) {
  std::optional<ClassifiedCopy> copy = ClassifyFusion(context_, inst);
  if (copy) Finish(std::move(*copy));
}

/// async-start of a computation that is nothing but a copy.
void Classifier::AddAsyncWrapper(InstId inst) {
  if (module_.called_computations(inst).size() != 1) return;
  InstId root = module_.computation(module_.called_computations(inst)[0]).root;
  if (module_.opcode(root) != Opcode::kCopy) return;
  AddCopy(inst, root, module_.shape(module_.operand(root, 0)), module_.shape(root),
          CopyForm::kAsyncCopy);
}

void Classifier::Look(InstId inst) {
  switch (module_.opcode(inst)) {
    case Opcode::kCopy:
      return AddCopy(inst, inst, module_.shape(module_.operand(inst, 0)), module_.shape(inst),
                     CopyForm::kCopy);
    case Opcode::kCopyStart: {
      ShapeId shape = module_.shape(inst);
      ShapeId to = shapes_.IsTuple(shape) && shapes_.element_count(shape) > 0
                       ? shapes_.element(shape, 0)
                       : shape;
      return AddCopy(inst, inst, module_.shape(module_.operand(inst, 0)), to, CopyForm::kAsyncCopy);
    }
    case Opcode::kAsyncStart:
      return AddAsyncWrapper(inst);
    case Opcode::kTranspose:
    case Opcode::kReshape:
      return AddMover(inst);
    case Opcode::kFusion:
      return AddFusion(inst);
    case Opcode::kBitcast:
      ++report_.free_bitcasts;
      return;
    default:
      return;
  }
}

CopyReport Classifier::Run() {
  for (CompId computation : module_.computation_order()) {
    if (context_.IsFused(computation)) continue;  // seen as a whole, from the fusion
    for (InstId inst : module_.computation(computation).instructions) Look(inst);
  }
  auto cost = [](const ClassifiedCopy& copy) {
    int64_t bytes;
    if (!copy.moves) return int64_t{-1};
    return __builtin_mul_overflow(copy.bytes, copy.times, &bytes)
               ? std::numeric_limits<int64_t>::max()
               : bytes;
  };
  std::stable_sort(
      report_.copies.begin(), report_.copies.end(),
      [&](const ClassifiedCopy& a, const ClassifiedCopy& b) { return cost(a) > cost(b); });
  return std::move(report_);
}

}  // namespace

CopyReport ClassifyCopies(const Module& module, const ClassifyOptions& options) {
  return Classifier(module, options).Run();
}

}  // namespace hlokit
