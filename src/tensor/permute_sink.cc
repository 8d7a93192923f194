// How is a tensor written that is larger than memory? Piece by piece in output order: the outermost
// loops are cut into slices, a slice is permuted into a buffer, and while the caller writes it the
// next one is computed.

#include <algorithm>
#include <future>
#include <system_error>

#include "hlokit/permute.h"
#include "src/tensor/permute_plan.h"

namespace hlokit {
namespace {

/// One piece of the output: a sub-range of one loop at fixed indices of the loops around it.
struct Slice {
  std::vector<PermuteLoop> loops;
  int64_t run_bytes = 0;
  int64_t src_offset = 0;
  int64_t bytes = 0;
};

/// Enumerates slices in output order. The run of bytes counts as one more, innermost loop, so that
/// a run that is longer than a chunk can be cut as well.
class Slicer {
 public:
  Slicer(std::span<const PermuteLoop> loops, int64_t run_bytes, int64_t chunk_bytes)
      : loops_(loops.begin(), loops.end()), run_bytes_(run_bytes) {
    if (run_bytes > chunk_bytes) {
      loops_.push_back({run_bytes, 1, 1});
      run_bytes_ = 1;
    }
    while (cut_ < loops_.size() && loops_[cut_].dst_stride > chunk_bytes) ++cut_;
    index_.assign(cut_, 0);
    if (cut_ == loops_.size()) return;  // one element is one slice
    step_ = std::max<int64_t>(1, chunk_bytes / loops_[cut_].dst_stride);
    // Whole cache lines of the source, as long as the chunk has room for them.
    if (step_ > 64 && step_ < loops_[cut_].extent) step_ = step_ / 64 * 64;
  }

  bool Next(Slice& slice) {
    if (done_) return false;
    slice.src_offset = 0;
    for (size_t i = 0; i < cut_; ++i) slice.src_offset += index_[i] * loops_[i].src_stride;
    slice.loops.assign(loops_.begin() + static_cast<int64_t>(cut_), loops_.end());
    slice.run_bytes = run_bytes_;
    if (cut_ < loops_.size()) {
      PermuteLoop& loop = slice.loops[0];
      slice.src_offset += at_ * loop.src_stride;
      loop.extent = std::min(step_, loop.extent - at_);
      slice.bytes = loop.extent * loop.dst_stride;
      at_ += loop.extent;
    } else {
      slice.bytes = run_bytes_;
    }
    if (cut_ == loops_.size() || at_ == loops_[cut_].extent) Advance();
    internal::Canonicalise(slice.loops, slice.run_bytes);
    return true;
  }

 private:
  void Advance() {
    at_ = 0;
    size_t i = cut_;
    while (i > 0 && ++index_[i - 1] == loops_[i - 1].extent) index_[--i] = 0;
    done_ = i == 0;
  }

  std::vector<PermuteLoop> loops_;
  int64_t run_bytes_;
  size_t cut_ = 0;
  int64_t step_ = 1;
  std::vector<int64_t> index_;
  int64_t at_ = 0;
  bool done_ = false;
};

}  // namespace

Status PermutePlan::RunToSink(const void* src, int64_t chunk_bytes,
                              const std::function<Status(std::span<const std::byte>)>& sink,
                              const PermuteOptions& options,
                              const PermuteProgress& progress) const {
  if (bytes_ == 0) return {};
  if (packed4_) {  // small by nature: packed weights are unpacked as a whole
    ASSIGN_OR_RETURN(HugeBuffer buffer, HugeBuffer::Make(static_cast<size_t>(bytes_)));
    Run(src, buffer.data(), options);
    TRY(sink({buffer.data(), buffer.size()}));
    if (progress) progress(bytes_, bytes_);
    return {};
  }
  const uint8_t* from = static_cast<const uint8_t*>(src);
  chunk_bytes = std::clamp<int64_t>(chunk_bytes, 1, bytes_);
  Slicer slicer(loops_, run_bytes_, chunk_bytes);
  HugeBuffer buffers[2];
  Slice slices[2];
  const auto compute = [&](int which) {
    internal::RunLoops(slices[which].loops, slices[which].run_bytes,
                       from + slices[which].src_offset,
                       reinterpret_cast<uint8_t*>(buffers[which].data()), options);
  };
  for (HugeBuffer& buffer : buffers) {
    ASSIGN_OR_RETURN(buffer,
                     HugeBuffer::Make(static_cast<size_t>(std::max(chunk_bytes, run_bytes_))));
  }
  int64_t written = 0;
  bool more = slicer.Next(slices[0]);
  if (more) compute(0);
  for (int current = 0; more; current = 1 - current) {
    const int other = 1 - current;
    more = slicer.Next(slices[other]);
    std::future<void> next;
    bool computed = !more;
    if (more && bytes_ > (int64_t{1} << 20)) {
      try {
        next = std::async(std::launch::async, compute, other);
        computed = true;
      } catch (const std::system_error&) {
        // No second thread: compute it afterwards.
      }
    }
    const Slice& slice = slices[current];
    Status status = sink({buffers[current].data(), static_cast<size_t>(slice.bytes)});
    if (next.valid()) next.wait();
    TRY(std::move(status));
    if (!computed) compute(other);
    written += slice.bytes;
    if (progress) progress(written, bytes_);
  }
  return {};
}

}  // namespace hlokit
