// Who does the second half of a permutation? One thread that is kept between calls: small tensors
// take less time than it takes to make a thread.

#include "src/tensor/permute_threads.h"

#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

#include "hwy/cache_control.h"

namespace hlokit::internal {
namespace {

constexpr int kSpins = 4000;  // some 100 microseconds: callers in a loop come back sooner

class SecondThread {
 public:
  ~SecondThread() {
    if (!thread_.joinable()) return;
    stop_ = true;
    calls_.fetch_add(1);
    calls_.notify_one();
    thread_.join();
  }

  void Run(const std::function<void(bool second)>& work) {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !Start()) {
      work(false);
      return;
    }
    work_ = &work;
    const int call = calls_.fetch_add(1) + 1;
    calls_.notify_one();
    work(false);
    // Where the second thread did not even begin (the machine is busy), nobody waits for it.
    int expected = call - 1;
    if (taken_.compare_exchange_strong(expected, call)) return;
    // It works on its last piece at most.
    for (int spins = 0; finished_.load() != call; ++spins) {
      if (spins < kSpins) {
        hwy::Pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  bool Start() {
    if (thread_.joinable()) return true;
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void Loop() {
    for (int seen = 0; !stop_;) {
      Await(seen);
      seen = calls_.load();
      if (stop_) return;
      int expected = seen - 1;
      if (!taken_.compare_exchange_strong(expected, seen)) continue;  // the caller did it alone
      (*work_)(true);
      finished_.store(seen);
    }
  }

  void Await(int seen) const {
    for (int i = 0; i < kSpins; ++i) {
      if (calls_.load() != seen) return;
      hwy::Pause();
    }
    calls_.wait(seen);
  }

  std::mutex mutex_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};     // how often there was work
  std::atomic<int> taken_{0};     // the last call that somebody has begun or given up
  std::atomic<int> finished_{0};  // the last call that the second thread has done
  const std::function<void(bool second)>* work_ = nullptr;
};

}  // namespace

void RunOnTwoThreads(const std::function<void(bool second)>& work) {
  static SecondThread second;
  second.Run(work);
}

}  // namespace hlokit::internal
