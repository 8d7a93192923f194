// What did a proto hold that the module has no place for? Kept beside the module and written back,
// as long as the module still says about that field what it said right after reading.
#ifndef HLOKIT_SRC_PROTO_EXTRAS_H_
#define HLOKIT_SRC_PROTO_EXTRAS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hlokit {

/// One field number of one message. `fresh` is what the writer made of the module right after
/// reading, `raw` what stood in the file (whole fields with tags; all occurrences one after the
/// other). The writer puts `raw` in the place of `fresh`, if it still would write `fresh`.
struct ProtoExtraField {
  uint32_t number = 0;
  std::string fresh;
  std::string raw;
};
using ProtoExtraFields = std::vector<ProtoExtraField>;  // by ascending number

struct ProtoExtras {
  ProtoExtraFields module;
  std::unordered_map<uint32_t, ProtoExtraFields> computations;  ///< by CompId
  std::unordered_map<uint32_t, ProtoExtraFields> instructions;  ///< by InstId
  std::vector<int64_t> computation_ids;  ///< by CompId; empty when they are 0, 1, 2, …
  std::vector<int32_t> local_ids;        ///< by InstId; empty when each computation counts from 0

  bool empty() const {
    return module.empty() && computations.empty() && instructions.empty() &&
           computation_ids.empty() && local_ids.empty();
  }
};

namespace proto {

/// What differs between two encodings of one message, field number by field number. Numbers for
/// which `skip` has a bit are not looked at.
ProtoExtraFields CompareFields(std::string_view raw, std::string_view fresh, uint64_t skip = 0);

/// Puts extras into a freshly written message. `known` tells whether the schema has a field number:
/// when the module was edited, fields that the writer knows but did not write are dropped.
std::string MergeExtras(std::string_view fresh, const ProtoExtraFields& extras,
                        bool (*known)(uint32_t));

}  // namespace proto
}  // namespace hlokit

#endif  // HLOKIT_SRC_PROTO_EXTRAS_H_
