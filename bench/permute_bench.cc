// How near to the speed of a copy is a permutation? All contestants of a case run side by side, in
// turns, in one process (numpy in a child right after it), on the cases of spec/permute-cases.md
// for 4, 2 and 1 byte elements.
//
//   permute_bench [--numpy SCRIPT] [--case N] [--seconds S]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/permute.h"
#include "src/tensor/permute_kernels.h"

namespace {

using hlokit::HugeBuffer;
using hlokit::PermutePlan;

struct Case {
  std::vector<int64_t> dims;
  std::vector<int64_t> permutation;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {{{1024, 1024}, {1, 0}},
                                          {{4096, 4096}, {1, 0}},
                                          {{16384, 8192}, {1, 0}},
                                          {{16384, 16384}, {1, 0}},
                                          {{4096, 14336}, {1, 0}},
                                          {{512, 512, 512}, {0, 2, 1}},
                                          {{512, 512, 512}, {1, 0, 2}},
                                          {{512, 512, 512}, {1, 2, 0}},
                                          {{512, 512, 512}, {2, 0, 1}},
                                          {{512, 512, 512}, {2, 1, 0}},
                                          {{64, 224, 224, 3}, {0, 3, 1, 2}},
                                          {{64, 224, 224, 3}, {1, 2, 3, 0}},
                                          {{3, 2048, 2, 128}, {0, 3, 2, 1}},
                                          {{3, 16, 128, 2, 2, 64}, {0, 4, 5, 3, 1, 2}},
                                          {{8, 4096, 32, 128}, {0, 2, 1, 3}},
                                          {{48, 28, 48, 28, 28}, {2, 0, 4, 1, 3}},
                                          {{64, 64, 64, 64, 4}, {4, 3, 2, 1, 0}}};
  return cases;
}

double Seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The plain loop nest that a compiler's user would write: output order, one element at a time.
template <typename T>
void NaiveLoop(std::span<const hlokit::PermuteLoop> loops, int64_t run, const T* src, T* dst) {
  std::vector<int64_t> index(loops.size(), 0);
  const int64_t size = sizeof(T);
  if (loops.empty()) {
    std::copy(src, src + run / size, dst);
    return;
  }
  const hlokit::PermuteLoop& inner = loops.back();
  while (true) {
    for (int64_t i = 0; i < inner.extent; ++i) {
      for (int64_t r = 0; r < run / size; ++r) *dst++ = src[i * inner.src_stride / size + r];
    }
    size_t d = loops.size() - 1;
    while (d > 0) {
      --d;
      src += loops[d].src_stride / size;
      if (++index[d] < loops[d].extent) break;
      src -= index[d] * loops[d].src_stride / size;
      index[d] = 0;
      if (d == 0) return;
    }
    if (loops.size() == 1) return;
  }
}

double NumpySeconds(const std::string& script, const Case& c, int bytes, int repeats) {
  if (script.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::string command = fmt::format("python3 '{}' {} {} {} {}", script, repeats, bytes,
                                          fmt::join(c.dims, ","), fmt::join(c.permutation, ","));
  FILE* pipe = popen(command.c_str(), "r");
  char line[64] = "nan";
  if (pipe == nullptr || std::fgets(line, sizeof(line), pipe) == nullptr) std::strcpy(line, "nan");
  if (pipe != nullptr) pclose(pipe);
  return std::strtod(line, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  std::string numpy;
  int only = 0;
  double budget = 0.6;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--numpy") numpy = argv[i + 1];
    if (flag == "--case") only = std::atoi(argv[i + 1]);
    if (flag == "--seconds") budget = std::atof(argv[i + 1]);
  }
  constexpr size_t kMost = size_t{1} << 30;
  auto source = HugeBuffer::Make(kMost);
  auto target = HugeBuffer::Make(kMost);
  if (!source || !target) return 6;
  std::memset(source->data(), 1, kMost);
  std::memset(target->data(), 1, kMost);
  fmt::print(
      "GB/s, bytes read + written; kernels: {}; copy is the better of memcpy and a streaming "
      "copy\n",
      hlokit::internal::KernelTarget());
  fmt::print(
      "| case | bytes | MB | memcpy | streaming copy | hlokit, 1 thread | hlokit, 2 threads | of "
      "copy | numpy | loop |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|\n");
  double log_sum = 0, log_sum_1 = 0, worst = 1e9, worst_numpy = 1e9;
  int count = 0;
  for (size_t n = 0; n < Cases().size(); ++n) {
    if (only != 0 && static_cast<size_t>(only) != n + 1) continue;
    const Case& c = Cases()[n];
    for (int bytes : {4, 2, 1}) {
      const auto plan = PermutePlan::Make(
          {.dims = c.dims, .permutation = c.permutation, .element_bits = bytes * 8});
      const size_t size = static_cast<size_t>(plan->bytes());
      const uint8_t* from = reinterpret_cast<const uint8_t*>(source->data());
      uint8_t* to = reinterpret_cast<uint8_t*>(target->data());
      const std::function<void()> contestants[] = {
          [&] { std::memcpy(to, from, size); },
          [&] {
            hlokit::internal::CopyBytes(from, to, static_cast<int64_t>(size), true);
            hlokit::internal::StreamFence();
          },
          [&] { plan->Run(from, to, {.threads = 1}); },
          [&] { plan->Run(from, to); },
      };
      double best[4] = {1e9, 1e9, 1e9, 1e9};
      double spent = 0;
      for (int turn = 0; turn < 3 || spent < budget; ++turn) {
        for (int i = 0; i < 4; ++i) {
          // Once without the clock, so that nobody finds the cache as the one before left it.
          if (size < (size_t{64} << 20)) contestants[i]();
          const double seconds = Seconds(contestants[i]);
          best[i] = std::min(best[i], seconds);
          spent += seconds;
        }
      }
      double loop = 1e9;
      for (int turn = 0; turn < 2; ++turn) {
        loop = std::min(
            loop, Seconds([&] {
              if (bytes == 4)
                NaiveLoop(plan->loops(), plan->run_bytes(), reinterpret_cast<const uint32_t*>(from),
                          reinterpret_cast<uint32_t*>(to));
              if (bytes == 2)
                NaiveLoop(plan->loops(), plan->run_bytes(), reinterpret_cast<const uint16_t*>(from),
                          reinterpret_cast<uint16_t*>(to));
              if (bytes == 1) NaiveLoop(plan->loops(), plan->run_bytes(), from, to);
            }));
      }
      const double numpy_seconds = NumpySeconds(numpy, c, bytes, size > (size_t{64} << 20) ? 2 : 7);
      const double copy = std::min(best[0], best[1]);
      const double ours = std::min(best[2], best[3]);
      const double gb = 2.0 * static_cast<double>(size) / 1e9;
      fmt::print(
          "| {} ({}) | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} | {:.2f} "
          "|\n",
          fmt::join(c.dims, "x"), fmt::join(c.permutation, ","), bytes, size >> 20, gb / best[0],
          gb / best[1], gb / best[2], gb / best[3], 100 * copy / ours, gb / numpy_seconds,
          gb / loop);
      std::fflush(stdout);
      log_sum += std::log(copy / ours);
      log_sum_1 += std::log(copy / best[2]);
      worst = std::min(worst, copy / ours);
      if (!std::isnan(numpy_seconds)) worst_numpy = std::min(worst_numpy, numpy_seconds / ours);
      ++count;
    }
  }
  fmt::print(
      "\ngeometric mean {:.0f} % of copy speed ({:.0f} % with one thread), worst case {:.0f} %, at "
      "least {:.1f} times numpy\n",
      100 * std::exp(log_sum / count), 100 * std::exp(log_sum_1 / count), 100 * worst, worst_numpy);
  return 0;
}
