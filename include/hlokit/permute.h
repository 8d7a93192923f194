#ifndef HLOKIT_PERMUTE_H_
#define HLOKIT_PERMUTE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// A permutation of a dense tensor: output dimension i is source dimension `permutation[i]`, and
/// the output is row-major (what numpy's `ascontiguousarray(transpose(x, permutation))` returns).
struct PermuteSpec {
  std::vector<int64_t> dims;         ///< source extents, outermost first; any rank, also 0
  std::vector<int64_t> permutation;  ///< a permutation of 0 … rank-1
  /// 4 (two elements per byte) or any multiple of 8. Sizes of 1, 2, 4, 8 and 16 bytes have kernels
  /// of their own; other sizes are moved as short runs of bytes.
  int64_t element_bits = 32;
  /// Distance in elements between neighbours of each source dimension; empty means row-major.
  /// Strides must be non-negative; packed 4-bit sources must be row-major.
  std::vector<int64_t> strides;
  /// Packed 4-bit only: the first element of a byte sits in its low half.
  bool low_nibble_first = true;
};

struct PermuteOptions {
  int threads = 0;  ///< 1 or 2; 0: two, or one for small tensors and one-core machines
  enum class Streaming { kAuto, kNever, kAlways };
  Streaming streaming =
      Streaming::kAuto;  ///< stores that by-pass the cache; kAuto: above cache size
};

/// Called with the number of finished output bytes; from one thread at a time.
using PermuteProgress = std::function<void(int64_t done, int64_t total)>;

/// One loop of a canonical plan; distances in bytes.
struct PermuteLoop {
  int64_t extent = 1;
  int64_t src_stride = 0;
  int64_t dst_stride = 0;
};

/// A checked and canonicalised permutation that can run any number of times, from several threads.
/// Canonical: no dimension of extent 1, neighbours that move together are one dimension, a run that
/// stays innermost is part of the element.
class PermutePlan {
 public:
  /// Fails with kUsage (T001 … T003) on ranks that differ, a `permutation` that is none, negative
  /// extents, an element size that is not supported, and products that overflow.
  static Result<PermutePlan> Make(const PermuteSpec& spec);

  /// Bytes of the output (and of a row-major source).
  int64_t bytes() const { return bytes_; }
  /// The canonical loops in output order, outermost first, without the element run.
  std::span<const PermuteLoop> loops() const { return loops_; }
  /// Bytes that are contiguous in source and output: the element of the canonical plan.
  int64_t run_bytes() const { return run_bytes_; }

  /// Moves all elements. `dst` must hold bytes() bytes and must not overlap `src`. No alignment is
  /// needed.
  void Run(const void* src, void* dst, const PermuteOptions& options = {}) const;

  /// Produces the output in order, in pieces of at most about `chunk_bytes`, and hands each piece
  /// to `sink` while the next one is being computed. Needs two buffers of that size, no more,
  /// whatever the size of the tensor. Stops at the first error of the sink and returns it.
  Status RunToSink(const void* src, int64_t chunk_bytes,
                   const std::function<Status(std::span<const std::byte>)>& sink,
                   const PermuteOptions& options = {}, const PermuteProgress& progress = {}) const;

 private:
  void RunPacked4(const uint8_t* src, uint8_t* dst, const PermuteOptions& options) const;

  std::vector<PermuteLoop> loops_;
  int64_t run_bytes_ = 1;
  int64_t bytes_ = 0;
  bool packed4_ = false;  // loops_ then count unpacked bytes
  bool low_nibble_first_ = true;
};

/// The oracle: one element at a time in plain loops. Same contract as Run of a plan that Make
/// accepts.
Status PermuteNaive(const PermuteSpec& spec, const void* src, void* dst);

/// Composes reshape (row-major) and transpose as numpy does on an array of `shape`, which may be
/// stored in Fortran order. Fails if the element counts differ or `transpose` is no permutation of
/// the axes of `reshape`. nullopt-like: when a Fortran-ordered source cannot be reshaped without a
/// copy, `needs_copy` is set and the spec describes the copy to row-major that has to come first.
struct ReshapeTranspose {
  PermuteSpec spec;
  bool needs_copy = false;
};
Result<ReshapeTranspose> ComposeReshapeTranspose(std::span<const int64_t> shape, bool fortran_order,
                                                 std::span<const int64_t> reshape,
                                                 std::span<const int64_t> transpose,
                                                 int64_t element_bits);

/// Zeroed memory in huge pages where the system grants them. Move-only.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  /// Fails with kIo (T004) when the system has no memory left.
  static Result<HugeBuffer> Make(size_t bytes);
  HugeBuffer(HugeBuffer&& other) noexcept { *this = std::move(other); }
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  ~HugeBuffer();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;
};

}  // namespace hlokit

#endif  // HLOKIT_PERMUTE_H_
