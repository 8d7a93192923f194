// What does the decision table say about one copy? The numbers of its rows are in the evidence.
#include <algorithm>

#include "fmt/format.h"
#include "src/copies/classifier.h"
#include "src/copies/index_map.h"
#include "src/copy_insertion/in_place.h"

namespace hlokit {

int64_t MemorySpace(const ShapePool& shapes, ShapeId array) {
  LayoutId layout = shapes.layout(array);
  return layout.valid() ? shapes.extras(layout).memory_space : 0;
}

bool SameOrder(const ShapePool& shapes, ShapeId a, ShapeId b) {
  auto order = [&](ShapeId shape) {
    std::vector<int64_t> out;
    LayoutId layout = shapes.layout(shape);
    std::span<const int64_t> sizes = shapes.sizes(shape);
    if (!layout.valid()) return out;
    for (int64_t dim : shapes.minor_to_major(layout)) {
      size_t at = static_cast<size_t>(dim);
      if (dim >= 0 && at < sizes.size() && sizes[at] != 1) out.push_back(dim);
    }
    return out;
  };
  return order(a) == order(b);
}

namespace {

std::string_view SpaceName(int64_t space) {
  switch (space) {
    case 0:
      return "device memory";
    case 1:
      return "on-chip or collective memory";
    case 5:
      return "host memory";
    default:
      return "another memory space";
  }
}

class Rules {
 public:
  Rules(const CopyContext& context, ClassifiedCopy& copy)
      : context_(context),
        module_(context.module()),
        shapes_(module_.shapes()),
        copy_(copy),
        inst_(copy.inst) {}
  void Apply();

 private:
  void Say(std::string_view rule, std::string text) {
    copy_.evidence.push_back({std::string(rule), std::move(text)});
  }
  void Verdict(CopyClass copy_class, Confidence confidence, std::string_view origin,
               Confidence origin_confidence) {
    copy_.copy_class = copy_class;
    copy_.confidence = confidence;
    copy_.origin = origin;
    copy_.origin_confidence = origin_confidence;
  }
  std::string_view Metadata(InstId inst) const {
    return module_.TextAttr(inst, AttrKind::kMetadata);
  }
  std::string Named(InstId inst) const { return fmt::format("%{}", module_.name(inst)); }

  bool SpaceCopy();
  bool LayoutCopy();
  void LayoutOrigin();
  bool PackingCopy();
  void EqualShapes();
  bool FromUser();
  bool LoopCopy();
  bool ResultCopy();
  bool InPlaceCopy();
  bool BranchCopy();
  bool PreparatoryCopy();
  bool NextToRegrouping() const;
  bool MovedBehind() const;
  bool FeedsDemand() const;
  bool RepeatedInRoot(InstId value) const;

  const CopyContext& context_;
  const Module& module_;
  const ShapePool& shapes_;
  ClassifiedCopy& copy_;
  InstId inst_;
};

// ---- rows 1 and 2 ----

bool Rules::SpaceCopy() {
  int64_t from = MemorySpace(shapes_, copy_.from), to = MemorySpace(shapes_, copy_.to);
  bool async = copy_.form == CopyForm::kAsyncCopy;
  if (from == to && !async) return false;
  bool same = SameOrder(shapes_, copy_.from, copy_.to);
  Verdict(CopyClass::kMemorySpace, Confidence::kCertain,
          from == 5 || to == 5 ? "host offloading" : "memory space assignment",
          from == to ? Confidence::kLow : Confidence::kHigh);
  if (from != to) {
    Say("1", fmt::format("from {} to {}", SpaceName(from), SpaceName(to)));
  } else {
    Say("1", "it runs asynchronously, as only copies between memories do");
  }
  if (!same) Say("2", "it changes the layout as well");
  return true;
}

// ---- rows 3 and 4 ----

/// A bitcast to other sizes right in front of or behind the copy.
bool Rules::NextToRegrouping() const {
  auto regroups = [&](InstId inst) {
    return module_.opcode(inst) == Opcode::kBitcast &&
           !std::ranges::equal(shapes_.sizes(module_.shape(inst)),
                               shapes_.sizes(module_.shape(module_.operand(inst, 0))));
  };
  if (regroups(module_.operand(inst_, 0))) return true;
  std::span<const InstId> users = module_.users(inst_);
  return std::any_of(users.begin(), users.end(), regroups);
}

bool Rules::MovedBehind() const {
  Opcode opcode = module_.opcode(module_.operand(inst_, 0));
  return opcode == Opcode::kPad || opcode == Opcode::kSlice ||
         IsElementByElement(module_, module_.operand(inst_, 0));
}

/// Does somebody with an opinion about layouts read the copy, or is it part of a result?
bool Rules::FeedsDemand() const {
  if (module_.IsRoot(inst_) || module_.users(inst_).empty()) return true;
  for (InstId user : module_.users(inst_)) {
    switch (module_.opcode(user)) {
      case Opcode::kDot:
      case Opcode::kConvolution:
      case Opcode::kCustomCall:
      case Opcode::kAllReduce:
      case Opcode::kAllGather:
      case Opcode::kAllToAll:
      case Opcode::kReduceScatter:
      case Opcode::kCollectivePermute:
      case Opcode::kFft:
      case Opcode::kSort:
      case Opcode::kTuple:
      case Opcode::kWhile:
      case Opcode::kConditional:
      case Opcode::kCall:
      case Opcode::kOutfeed:
      case Opcode::kSend:
      case Opcode::kReshape:
      case Opcode::kBitcast:
        return true;
      default:
        break;
    }
  }
  return false;
}

void Rules::LayoutOrigin() {
  InstId operand = module_.operand(inst_, 0);
  bool same_metadata = Metadata(inst_) == Metadata(operand);
  if (NextToRegrouping()) {
    Say("3b", "a bitcast to other dimensions stands next to it");
    return Verdict(CopyClass::kLayout, Confidence::kCertain, "reshape decomposer",
                   Confidence::kHigh);
  }
  if (context_.has_before() && context_.WasThere(inst_)) {
    Say("3d", "a copy of this name is in the module before optimisation");
    return Verdict(CopyClass::kUser, Confidence::kHigh, "the program (a change of layout)",
                   Confidence::kHigh);
  }
  if (same_metadata && MovedBehind() && !FeedsDemand()) {
    Say("3c", fmt::format("it has the metadata of {}, and nobody behind it asks for a layout",
                          Named(operand)));
    return Verdict(CopyClass::kLayout, Confidence::kCertain, "a simplifier that moved a copy",
                   Confidence::kMedium);
  }
  if (same_metadata) {
    bool empty = Metadata(inst_).empty();
    Say("3a", empty ? "neither it nor its operand has metadata"
                    : fmt::format("it has the metadata of its operand {}", Named(operand)));
    return Verdict(CopyClass::kLayout, Confidence::kCertain, "layout assignment",
                   empty ? Confidence::kMedium : Confidence::kHigh);
  }
  for (InstId user : module_.users(inst_)) {
    if (module_.opcode(user) != Opcode::kTuple || Metadata(inst_) != Metadata(user)) continue;
    Say("3a",
        fmt::format("it has the metadata of the tuple {}, one of whose parts it is", Named(user)));
    return Verdict(CopyClass::kLayout, Confidence::kCertain, "layout assignment",
                   Confidence::kHigh);
  }
  Verdict(CopyClass::kLayout, Confidence::kCertain, "not known", Confidence::kLow);
}

bool Rules::LayoutCopy() {
  LayoutId from = shapes_.order(shapes_.layout(copy_.from));
  LayoutId to = shapes_.order(shapes_.layout(copy_.to));
  if (from == to || !from.valid() || !to.valid()) return false;
  if (SameOrder(shapes_, copy_.from, copy_.to)) {
    copy_.moves = false;
    Verdict(CopyClass::kLayout, Confidence::kCertain, "layout assignment", Confidence::kMedium);
    Say("4", "the orders differ only in dimensions of size 1: nothing moves");
    return true;
  }
  Say("3", fmt::format("{} becomes {}", shapes_.LayoutText(from), shapes_.LayoutText(to)));
  LayoutOrigin();
  return true;
}

// ---- row 5 ----

bool Rules::PackingCopy() {
  if (shapes_.layout(copy_.from) == shapes_.layout(copy_.to)) return false;
  if (!shapes_.layout(copy_.from).valid() || !shapes_.layout(copy_.to).valid()) return false;
  Verdict(CopyClass::kLayout, Confidence::kCertain, "a back end (tiles or packing)",
          Confidence::kMedium);
  Say("5", fmt::format("the order is the same, tiles or packing differ: {} becomes {}",
                       shapes_.LayoutText(shapes_.layout(copy_.from)),
                       shapes_.LayoutText(shapes_.layout(copy_.to))));
  return true;
}

// ---- rows 6 to 13: equal shapes ----

bool Rules::LoopCopy() {
  if (!context_.HasControlEdges(inst_)) return false;
  CompId computation = module_.computation_of(inst_);
  bool near_loop = context_.LoopOf(computation).valid();
  for (InstId user : module_.users(inst_)) {
    for (InstId next : module_.users(user)) near_loop |= module_.opcode(next) == Opcode::kWhile;
    near_loop |= module_.opcode(user) == Opcode::kWhile;
  }
  if (!near_loop) return false;
  Verdict(CopyClass::kLifetime, Confidence::kHigh, "copy insertion (loop state)",
          Confidence::kHigh);
  Say("6", "equal layouts, control edges, in or around a while loop");
  return true;
}

bool Rules::RepeatedInRoot(InstId value) const {
  InstId root = module_.computation(module_.computation_of(inst_)).root;
  std::span<const InstId> all = module_.operands(root);
  if (module_.opcode(root) != Opcode::kTuple) return false;
  auto base = [&](InstId at) {
    while (module_.opcode(at) == Opcode::kCopy || module_.opcode(at) == Opcode::kBitcast) {
      at = module_.operand(at, 0);
    }
    return at;
  };
  return std::count_if(all.begin(), all.end(),
                       [&](InstId one) { return base(one) == base(value); }) > 1;
}

bool Rules::ResultCopy() {
  CompId computation = module_.computation_of(inst_);
  if (computation != module_.entry() || !Metadata(inst_).empty()) return false;
  bool in_root = module_.IsRoot(inst_);
  for (InstId user : module_.users(inst_)) in_root |= module_.opcode(user) == Opcode::kTuple;
  if (!in_root) return false;
  InstId source = context_.Producer(inst_);
  Opcode opcode = module_.opcode(source);
  std::string why;
  if (opcode == Opcode::kParameter) why = fmt::format("{} is a parameter", Named(source));
  if (opcode == Opcode::kConstant) why = fmt::format("{} is a constant", Named(source));
  if (why.empty() && RepeatedInRoot(inst_))
    why = fmt::format("{} is in the result more than once", Named(source));
  if (why.empty()) return false;
  Verdict(CopyClass::kLifetime, Confidence::kHigh, "copy insertion (result or constant)",
          Confidence::kHigh);
  Say("7", "equal layouts, no metadata, it goes into a tuple of the entry, and " + why);
  return true;
}

bool Rules::InPlaceCopy() {
  std::span<const InstId> users = module_.users(inst_);
  if (!Metadata(inst_).empty() || users.size() != 1) return false;
  for (const copies::InPlacePair& pair : copies::InPlacePairs(module_, users[0])) {
    if (module_.operand(users[0], pair.operand) != inst_) continue;
    Verdict(CopyClass::kLifetime, Confidence::kHigh, "copy insertion (update in place)",
            Confidence::kHigh);
    Say("8", fmt::format("equal layouts, no metadata, and its only reader {} updates it in place",
                         Named(users[0])));
    return true;
  }
  return false;
}

bool Rules::BranchCopy() {
  CompId computation = module_.computation_of(inst_);
  if (!Metadata(inst_).empty() || !context_.BranchOf(computation).valid()) return false;
  InstId root = module_.computation(computation).root;
  std::span<const InstId> all = module_.operands(root);
  if (root != inst_ && std::find(all.begin(), all.end(), inst_) == all.end()) return false;
  Verdict(CopyClass::kLifetime, Confidence::kHigh, "copy insertion (result of a branch)",
          Confidence::kHigh);
  Say("9", fmt::format("equal layouts, no metadata, in the result of a branch of {}",
                       Named(context_.BranchOf(computation))));
  return true;
}

bool Rules::PreparatoryCopy() {
  InstId operand = module_.operand(inst_, 0);
  if (Metadata(inst_).empty() || Metadata(inst_) != Metadata(operand)) return false;
  for (InstId user : module_.users(inst_)) {
    bool aliased = module_.opcode(user) == Opcode::kCustomCall &&
                   module_.HasAttr(user, AttrKind::kOutputToOperandAliasing);
    if (module_.opcode(user) != Opcode::kSend && !aliased) continue;
    Verdict(CopyClass::kLayout, Confidence::kHigh, "layout assignment (preparation)",
            Confidence::kHigh);
    Say("10", fmt::format("equal layouts, metadata of its operand, in front of {}", Named(user)));
    return true;
  }
  return false;
}

bool Rules::FromUser() {
  InstId operand = module_.operand(inst_, 0);
  if (context_.has_before() && context_.WasThere(inst_)) {
    Verdict(CopyClass::kUser, Confidence::kHigh, "the program", Confidence::kHigh);
    Say("11", "a copy of this name is in the module before optimisation");
    return true;
  }
  if (Metadata(inst_).empty() || Metadata(inst_) == Metadata(operand)) return false;
  if (context_.has_before()) {
    Verdict(CopyClass::kUnknown, Confidence::kLow, "replaced or merged", Confidence::kLow);
    Say("12", "metadata of its own, but it is not in the module before optimisation");
  } else {
    Verdict(CopyClass::kUser, Confidence::kMedium, "the program", Confidence::kMedium);
    Say("11", "metadata of its own; whether it is in the module before optimisation is not known");
  }
  return true;
}

void Rules::EqualShapes() {
  const LifetimeCopy* needed = context_.Needed(inst_);
  bool (Rules::*rows[])() = {&Rules::LoopCopy,   &Rules::ResultCopy,      &Rules::InPlaceCopy,
                             &Rules::BranchCopy, &Rules::PreparatoryCopy, &Rules::FromUser};
  bool found = false;
  for (bool (Rules::*row)() : rows) {
    found = (this->*row)();
    if (found) break;
  }
  if (!found && Metadata(inst_).empty()) {
    Verdict(CopyClass::kLifetime, Confidence::kMedium, "copy insertion", Confidence::kMedium);
    Say("13", "equal layouts and no metadata");
  } else if (!found) {
    Verdict(CopyClass::kUnknown, Confidence::kLow, "replaced or merged", Confidence::kLow);
    Say("12", "equal layouts, and the metadata of its operand");
  }
  if (needed == nullptr) return;
  LifetimeCopy overlap = *needed;
  std::string text = DescribeLifetimeCopy(module_, overlap);
  size_t cut = text.find("; ");
  Say("live-range", cut == std::string::npos ? text : text.substr(cut + 2));
  if (copy_.copy_class == CopyClass::kLifetime && copy_.confidence == Confidence::kMedium) {
    copy_.confidence = Confidence::kHigh;
  }
  if (copy_.copy_class == CopyClass::kUnknown) {
    Verdict(CopyClass::kLifetime, Confidence::kMedium, "not known", Confidence::kLow);
  }
}

void Rules::Apply() {
  if (SpaceCopy() || LayoutCopy() || PackingCopy()) return;
  if (context_.IsFused(module_.computation_of(inst_))) {
    Verdict(CopyClass::kLifetime, Confidence::kMedium, "copy insertion, fused later",
            Confidence::kMedium);
    Say("14", "equal layouts, in the body of a fusion");
    return;
  }
  EqualShapes();
}

}  // namespace

void ApplyRules(const CopyContext& context, ClassifiedCopy& copy) { Rules(context, copy).Apply(); }

}  // namespace hlokit
