// Which devices do replica groups name that are written without listing them?
#ifndef HLOKIT_SRC_EVAL_COMPACT_GROUPS_H_
#define HLOKIT_SRC_EVAL_COMPACT_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hlokit::eval {

/// "[2,4]<=[4,2]T(1,0)" or "mesh['a'=2,'b'=4] {'b'}" as lists. Nothing when the text is malformed
/// or names too many devices.
std::optional<std::vector<std::vector<int64_t>>> ExpandCompactGroups(std::string_view text);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_COMPACT_GROUPS_H_
