#ifndef HLOKIT_SRC_TENSOR_PROGRESS_H_
#define HLOKIT_SRC_TENSOR_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace hlokit::internal {

/// A bar on stderr for work of more than half a second; silent when stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress() { Clear(); }
  void Update(int64_t done, int64_t total);
  void Clear();

 private:
  std::string label_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PROGRESS_H_
