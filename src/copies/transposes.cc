// Is a transpose of an optimised module a layout copy in disguise, or the program's own?
// (copy-insertion.md C.5)
#include <algorithm>

#include "fmt/format.h"
#include "src/copies/classifier.h"

namespace hlokit {

void ClassifyTranspose(const CopyContext& context, ClassifiedCopy& copy) {
  const Module& module = context.module();
  InstId inst = copy.inst;
  auto is_bitcast = [&](InstId one) { return module.opcode(one) == Opcode::kBitcast; };
  std::span<const InstId> users = module.users(inst);
  bool viewed =
      is_bitcast(module.operand(inst, 0)) || std::any_of(users.begin(), users.end(), is_bitcast);
  bool logical = context.has_before() && context.HadTranspose(module.dimensions(inst));
  copy.confidence = Confidence::kHigh;
  copy.copy_class = CopyClass::kLayout;
  copy.origin = "layout normalisation of a copy";
  copy.origin_confidence = Confidence::kMedium;
  if (copy.form == CopyForm::kReshape) {
    copy.origin = "a reshape that is no bitcast";
    copy.evidence.push_back({"C.5", "the reshape changes the order in memory"});
    return;
  }
  copy.evidence.push_back({"C.5", "the transpose changes the order in memory"});
  if (viewed) {
    copy.evidence.push_back({"C.5", "a bitcast views the value with other dimensions next to it"});
    return;
  }
  if (context.has_before() && !logical) {
    copy.evidence.push_back(
        {"C.5", "the module before optimisation has no transpose with these dimensions"});
    return;
  }
  const std::string_view metadata = module.TextAttr(inst, AttrKind::kMetadata);
  const InstId producer = context.Producer(inst);
  const bool inherited =
      !metadata.empty() &&
      (metadata == module.TextAttr(module.operand(inst, 0), AttrKind::kMetadata) ||
       metadata == module.TextAttr(producer, AttrKind::kMetadata));
  if (!logical && inherited) {
    copy.evidence.push_back(
        {"3a", fmt::format("it has the metadata of %{}, as copies of layout assignment do",
                           module.name(producer))});
    return;
  }
  if (!logical && !OpNameOf(module, inst).ends_with("transpose")) {
    copy.confidence = Confidence::kMedium;
    copy.evidence.push_back({"C.5", "nothing says that the program has this transpose"});
    return;
  }
  copy.copy_class = CopyClass::kUser;
  copy.confidence = logical ? Confidence::kHigh : Confidence::kMedium;
  copy.origin = "a transpose of the program";
  copy.origin_confidence = copy.confidence;
  copy.evidence.push_back(
      {"C.5", logical ? "the module before optimisation has a transpose with these dimensions"
                      : "its metadata speaks of a transpose"});
}

}  // namespace hlokit
