#ifndef HLOKIT_SRC_TENSOR_FS_STEP_H_
#define HLOKIT_SRC_TENSOR_FS_STEP_H_

// One seam for tests: every operation that changes the file system asks here first. A test can
// count the operations, end the process at one of them, or make one fail as a full disk would.

#include <functional>
#include <string_view>

namespace hlokit::internal {

/// Called with the name of the operation ("write", "rename", …) before it happens; returns 0 to go
/// on or an errno to fail with. Empty outside of tests.
using FsHook = std::function<int(std::string_view operation)>;
void SetFsHook(FsHook hook);

/// 0, or the errno that the hook wants.
int FsStep(std::string_view operation);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_FS_STEP_H_
