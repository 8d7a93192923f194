// Which devices take part in a collective?
#ifndef HLOKIT_SRC_PASSES_SHARED_REPLICA_GROUPS_H_
#define HLOKIT_SRC_PASSES_SHARED_REPLICA_GROUPS_H_

#include <string>
#include <string_view>

namespace hlokit {

/// A key that is equal for two replica_groups texts exactly when they list the same groups in the
/// same order, whichever of the forms of hlo-text.md section 8.11 they use: "0,1;2,3;". Mesh forms
/// and lists of more than a million devices stay as written.
std::string ReplicaGroupsKey(std::string_view text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_REPLICA_GROUPS_H_
