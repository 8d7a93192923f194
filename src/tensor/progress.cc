// Is long work getting on? One line on stderr that is rewritten in place and removed at the end.

#include "src/tensor/progress.h"

#include <unistd.h>

#include <cstdio>

#include "fmt/format.h"

namespace hlokit::internal {

Progress::Progress(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Update(int64_t done, int64_t total) {
  using std::chrono::milliseconds;
  if (!terminal_ || total <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - begin_ < milliseconds(500) || now - last_ < milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  constexpr int64_t kWidth = 30;
  const int64_t filled =
      static_cast<int64_t>(static_cast<double>(done) / static_cast<double>(total) * kWidth);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f}% {:.2f} GB/s", label_, "", filled, "",
             kWidth - filled, 100.0 * static_cast<double>(done) / static_cast<double>(total),
             static_cast<double>(done) / seconds / 1e9);
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace hlokit::internal
