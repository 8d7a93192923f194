#ifndef HLOKIT_SRC_TENSOR_PERMUTE_THREADS_H_
#define HLOKIT_SRC_TENSOR_PERMUTE_THREADS_H_

#include <functional>

namespace hlokit::internal {

/// Runs `work` on this thread and, at the same time, with `second` on another one; returns when
/// both are done. The second thread is made at the first call and kept: it spins for a moment, then
/// sleeps. When it is busy with another caller's work, or there is none to be had, `work` runs here
/// alone: it must share out its pieces itself.
void RunOnTwoThreads(const std::function<void(bool second)>& work);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PERMUTE_THREADS_H_
