// Which instructions of a computation belong to the same domain?
#include "src/passes/shared/domains.h"

#include <map>
#include <string>
#include <vector>

namespace hlokit {
namespace {

/// The text of one side of domain={kind="sharding", entry=…, exit=…}.
std::string Side(std::string_view text, bool entry) {
  size_t at = text.find("entry=");
  size_t middle = text.find(", exit=");
  if (at == text.npos || middle == text.npos || middle < at) return std::string(text);
  return std::string(entry ? text.substr(at + 6, middle - at - 6) : text.substr(middle + 7));
}

}  // namespace

DomainMap::DomainMap(const Module& module, CompId computation) {
  const std::vector<InstId>& all = module.computation(computation).instructions;
  bool any = false;
  for (InstId inst : all) any |= module.opcode(inst) == Opcode::kDomain;
  if (!any) return;
  auto is_domain = [&](InstId inst) { return module.opcode(inst) == Opcode::kDomain; };
  std::map<std::string, uint32_t> known;
  std::unordered_map<uint32_t, bool> seen;
  for (InstId start : all) {
    if (is_domain(start) || seen[start.value]) continue;
    std::vector<InstId> part = {start};
    seen[start.value] = true;
    InstId feeding, consuming;
    for (size_t i = 0; i < part.size(); ++i) {
      auto visit = [&](InstId next, InstId* domain) {
        if (is_domain(next)) {
          if (!domain->valid()) *domain = next;
        } else if (!seen[next.value]) {
          seen[next.value] = true;
          part.push_back(next);
        }
      };
      for (InstId operand : module.operands(part[i])) visit(operand, &feeding);
      for (InstId user : module.users(part[i])) visit(user, &consuming);
    }
    if (!feeding.valid() && !consuming.valid()) continue;
    // In text, "entry" is the user side of a domain instruction, "exit" its operand side.
    std::string metadata = feeding.valid()
                               ? Side(module.TextAttr(feeding, AttrKind::kDomain), true)
                               : Side(module.TextAttr(consuming, AttrKind::kDomain), false);
    uint32_t id =
        known.try_emplace(metadata, static_cast<uint32_t>(known.size()) + 1).first->second;
    for (InstId inst : part) ids_[inst.value] = id;
  }
}

}  // namespace hlokit
