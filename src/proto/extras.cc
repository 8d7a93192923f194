// How are fields that the module has no place for found, and put back?
#include "extras.h"

#include <algorithm>
#include <map>

#include "wire.h"

namespace hlokit::proto {
namespace {

/// The fields of a message by number, all occurrences of a number one after the other.
std::map<uint32_t, std::string> ByNumber(std::string_view message, uint64_t skip = 0) {
  std::map<uint32_t, std::string> out;
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number < 64 && ((skip >> field.number) & 1) != 0) continue;
    out[field.number].append(field.raw);
  }
  return out;
}

}  // namespace

ProtoExtraFields CompareFields(std::string_view raw, std::string_view fresh, uint64_t skip) {
  std::map<uint32_t, std::string> from_file = ByNumber(raw, skip);
  std::map<uint32_t, std::string> from_us = ByNumber(fresh, skip);
  ProtoExtraFields out;
  for (auto& [number, bytes] : from_us) from_file.try_emplace(number);
  for (auto& [number, bytes] : from_file) {
    std::string& ours = from_us[number];
    if (ours != bytes) out.push_back({number, std::move(ours), std::move(bytes)});
  }
  return out;
}

std::string MergeExtras(std::string_view fresh, const ProtoExtraFields& extras,
                        bool (*known)(uint32_t)) {
  std::map<uint32_t, std::string> fields = ByNumber(fresh);
  bool edited = false;
  for (const ProtoExtraField& extra : extras) {
    if (extra.fresh.empty()) continue;
    auto it = fields.find(extra.number);
    edited |= it == fields.end() || it->second != extra.fresh;
  }
  for (const ProtoExtraField& extra : extras) {
    std::string& ours = fields[extra.number];
    bool replace = ours == extra.fresh;
    // A second spelling of something that was edited (a payload, a legacy field) would win over the
    // edit.
    if (extra.fresh.empty() && edited && known(extra.number)) replace = false;
    if (replace) ours = extra.raw;
  }
  std::string out;
  for (const auto& [number, bytes] : fields) out += bytes;
  return out;
}

}  // namespace hlokit::proto
