// In which order is a permutation carried out? Cuts the canonical loops into tiles and drives the
// kernels.
//
// Two groups of loops make a tile: A, the loops that are contiguous in the source, and B, the loops
// that are contiguous in the output. Reading runs along A and writing runs along B both fill whole
// cache lines. All other loops go around. Macro tiles keep the pages that are in use at one time
// within reach of the TLB.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "hlokit/permute.h"
#include "src/tensor/permute_kernels.h"
#include "src/tensor/permute_plan.h"
#include "src/tensor/permute_threads.h"

namespace hlokit {
namespace {

using internal::Tile;
using internal::TileKind;

constexpr int64_t kLine = 64;
constexpr int64_t kStrip = 16;  // the narrowest piece of a source row that the direct kernel takes
constexpr int64_t kTileBytes =
    96 << 10;  // one stage of a tile; three stages fit the second-level cache
constexpr int64_t kWriteRunBytes = 512;      // how long a tile writes to one output row
constexpr int64_t kMacroBytes = 4 << 10;     // one page per row of a macro tile
constexpr int64_t kStreamBytes = 8 << 20;    // outputs above this by-pass the cache
constexpr int64_t kThreadBytes = 512 << 10;  // outputs below this are not worth a second thread
constexpr int64_t kMaxLoops = 64;

/// Loops that are walked as one index, innermost first.
struct Group {
  std::vector<PermuteLoop> loops;
  int64_t total = 1;

  void Add(const PermuteLoop& loop) {
    loops.push_back(loop);
    total *= loop.extent;
  }
};

struct TilePlan {
  Group a;
  Group b;
  std::vector<PermuteLoop> rest;  // output order
  int64_t rest_total = 1;
  int64_t element_bytes = 1;
  bool runs = false;
  bool direct = false;  // whole lines: no stages
  bool slab = false;    // direct, and the output rows touch
  int64_t tile_a = 1;
  int64_t tile_b = 1;
  int64_t macro_a = 1;
  int64_t macro_b = 1;
  bool stream = false;

  int64_t MacrosA() const { return (a.total + macro_a - 1) / macro_a; }
  int64_t MacrosB() const { return (b.total + macro_b - 1) / macro_b; }
  int64_t Bytes() const { return a.total * b.total * rest_total * element_bytes; }
};

/// Byte offsets of the indices start … start+count-1 of a group, on one side.
void FillOffsets(const Group& group, int64_t PermuteLoop::*stride, int64_t start, int64_t count,
                 int64_t* out) {
  int64_t index[kMaxLoops];
  int64_t offset = 0;
  const size_t n = group.loops.size();
  if (n == 0) {  // one index only
    out[0] = 0;
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    index[i] = start % group.loops[i].extent;
    start /= group.loops[i].extent;
    offset += index[i] * (group.loops[i].*stride);
  }
  int64_t k = 0;
  while (k < count) {
    const int64_t step = group.loops[0].*stride;
    const int64_t end = std::min(count, k + group.loops[0].extent - index[0]);
    const int64_t base = offset - k * step;
    for (int64_t j = k; j < end; ++j) out[j] = base + j * step;
    offset += (end - k) * step;
    index[0] += end - k;
    k = end;
    for (size_t i = 0; i < n && index[i] == group.loops[i].extent; ++i) {
      offset -= index[i] * (group.loops[i].*stride);
      index[i] = 0;
      if (i + 1 == n) break;
      offset += group.loops[i + 1].*stride;
      ++index[i + 1];
    }
  }
}

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// True if a tile fits both stages, whatever kernel takes it.
bool Fits(int64_t na, int64_t nb, int64_t es) {
  const int64_t line = kLine / es;
  const int64_t in = RoundUp(nb, line) * internal::StageInPitch(na * es, false);
  const int64_t columns = std::min(RoundUp(na, kLine / 4 / es), internal::ColumnsAtOnce(es));
  const int64_t out =
      std::max(columns * internal::StageOutPitch(nb * es), nb <= 4 ? na * nb * es : 0);
  return in <= internal::kStageInBytes && out <= internal::kStageOutBytes &&
         na <= internal::kMaxTileRows && nb <= internal::kMaxTileRows;
}

/// Chooses A and B: starts with the innermost loop of each side and extends the shorter group while
/// its next loop is free.
void ChooseGroups(std::span<const PermuteLoop> loops, int64_t run_bytes, TilePlan& plan) {
  const int64_t target = plan.runs ? kMacroBytes : 512;
  std::vector<bool> used(loops.size(), false);
  size_t next_b = loops.size();
  const auto next_a = [&]() -> size_t {
    for (size_t i = 0; i < loops.size(); ++i) {
      if (!used[i] && loops[i].src_stride == run_bytes * plan.a.total && loops[i].src_stride != 0)
        return i;
    }
    return loops.size();
  };
  const auto add_a = [&]() {
    const size_t i = next_a();
    if (i == loops.size()) return false;
    used[i] = true;
    plan.a.Add(loops[i]);
    return true;
  };
  const auto add_b = [&]() {
    if (next_b == 0 || used[next_b - 1]) return false;
    used[--next_b] = true;
    plan.b.Add(loops[next_b]);
    return true;
  };
  add_b();
  add_a();
  bool more = true;
  while (more) {
    more = false;
    if (plan.b.total * run_bytes < target) more = add_b() || more;
    if (plan.a.total * run_bytes < target) more = add_a() || more;
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (used[i]) continue;
    plan.rest.push_back(loops[i]);
    plan.rest_total *= loops[i].extent;
  }
}

void ChooseTransposeTile(TilePlan& plan) {
  const int64_t es = plan.element_bytes;
  const int64_t line = kLine / es;
  // Single bytes need the most shuffles, so their tiles should stay nearer to the core.
  const int64_t tile_bytes = es == 1 ? kTileBytes / 2 : kTileBytes;
  const int64_t write_run = es == 1 ? kWriteRunBytes / 2 : kWriteRunBytes;
  int64_t nb = std::min(plan.b.total, write_run / es);
  int64_t na = std::min(plan.a.total, std::max<int64_t>(1, tile_bytes / (nb * es)));
  nb = std::min(plan.b.total, std::max(nb, tile_bytes / (na * es)));
  while (!Fits(na, nb, es)) {
    int64_t& larger = na > nb ? na : nb;
    larger = (larger + 1) / 2;
  }
  if (na < plan.a.total && na > line) na = na / line * line;
  if (nb < plan.b.total && nb > line) nb = nb / line * line;
  plan.tile_a = na;
  plan.tile_b = nb;
}

void ChooseRunsTile(TilePlan& plan) {
  const int64_t es = plan.element_bytes;
  const int64_t per_page = std::max<int64_t>(1, kMacroBytes / es);
  plan.tile_a = std::min({plan.a.total, per_page, internal::kMaxTileRows});
  // No more rows at a time than the prefetchers follow.
  constexpr int64_t kRowsAtOnce = 16;
  const int64_t short_runs = std::max(kRowsAtOnce, kLine * 4 / es);
  plan.tile_b = std::min({plan.b.total, per_page, short_runs, internal::kMaxTileRows});
}

/// True if every line that a square of one line by one line writes is a whole line of the output.
bool WritesWholeLines(const TilePlan& plan, const uint8_t* dst) {
  int64_t distances = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % kLine);
  for (const PermuteLoop& loop : plan.a.loops) distances |= loop.dst_stride;
  for (const PermuteLoop& loop : plan.rest) distances |= loop.dst_stride;
  return distances % kLine == 0;
}

/// True if the output rows of all of A and B touch and fit the stage together.
bool RowsMakeASlab(const TilePlan& plan) {
  const int64_t row = plan.b.total * plan.element_bytes;
  return plan.a.loops.size() == 1 && plan.a.loops[0].dst_stride == row &&
         plan.a.total * row <= internal::kStageOutBytes &&
         std::max(plan.a.total, plan.b.total) <= internal::kMaxTileRows;
}

void ChooseDirectTile(TilePlan& plan) {
  if (plan.slab) {
    plan.tile_a = plan.a.total;
    plan.tile_b = plan.b.total;
    return;
  }
  const int64_t es = plan.element_bytes;
  const int64_t square = kLine / es;
  plan.tile_a = std::min(plan.a.total, 8 * square);
  const int64_t squares = !plan.stream ? 4 : es >= 4 ? 1 : 2;
  plan.tile_b = std::min(plan.b.total, squares * square);
}

TilePlan MakeTilePlan(std::span<const PermuteLoop> loops, int64_t run_bytes, const uint8_t* dst,
                      const PermuteOptions& options) {
  TilePlan plan;
  plan.element_bytes = run_bytes;
  plan.runs = run_bytes != 1 && run_bytes != 2 && run_bytes != 4 && run_bytes != 8;
  ChooseGroups(loops, run_bytes, plan);
  if (plan.a.loops.empty()) plan.runs = true;  // a strided source: nothing to read in a row
  plan.stream =
      options.streaming == PermuteOptions::Streaming::kAlways ||
      (options.streaming == PermuteOptions::Streaming::kAuto && plan.Bytes() >= kStreamBytes);
  const bool whole_lines = !plan.stream || WritesWholeLines(plan, dst);
  plan.slab = !whole_lines && RowsMakeASlab(plan);
  plan.direct = !plan.runs && plan.a.total * run_bytes >= kStrip &&
                plan.b.total * run_bytes >= kLine / 2 && (whole_lines || plan.slab);
  if (plan.runs) {
    ChooseRunsTile(plan);
  } else if (plan.direct) {
    ChooseDirectTile(plan);
  } else {
    ChooseTransposeTile(plan);
  }
  const int64_t per_page = std::max<int64_t>(1, kMacroBytes / run_bytes);
  plan.macro_a =
      std::min(plan.a.total, std::max(plan.tile_a, per_page / plan.tile_a * plan.tile_a));
  plan.macro_b =
      std::min(plan.b.total, std::max(plan.tile_b, per_page / plan.tile_b * plan.tile_b));
  constexpr int64_t kEnoughWork = 32;  // pieces for the threads to share
  if (plan.MacrosA() * plan.MacrosB() * plan.rest_total < kEnoughWork) {
    plan.macro_a = std::min(plan.a.total, plan.tile_a);
    plan.macro_b = std::min(plan.b.total, plan.tile_b);
  }
  return plan;
}

/// True if the indices start … start+count-1 of a group are `step` bytes apart on one side.
bool Touches(const Group& group, int64_t PermuteLoop::*stride, int64_t start, int64_t count,
             int64_t step) {
  if (group.loops.empty()) return true;
  const PermuteLoop& inner = group.loops[0];
  return start % inner.extent + count <= inner.extent && inner.*stride == step;
}

/// The tiles of the macro tiles begin … end-1: within a macro tile along A first, so that source
/// rows are read on where the last tile stopped.
class MacroTiles : public internal::TileSource {
 public:
  MacroTiles(const TilePlan& plan, int64_t begin, int64_t end, const uint8_t* src, uint8_t* dst)
      : plan_(plan), item_(begin), end_(end), src_(src), dst_(dst) {
    if (item_ < end_) EnterMacro();
  }

  bool Next(Tile& tile) override {
    if (a_ >= a_end_) {
      a_ = a_begin_;
      b_ += plan_.tile_b;
    }
    if (b_ >= b_end_) {
      if (++item_ >= end_) return false;
      EnterMacro();
    }
    tile.na = std::min(plan_.tile_a, a_end_ - a_);
    tile.nb = std::min(plan_.tile_b, b_end_ - b_);
    tile.element_bytes = plan_.element_bytes;
    tile.stream = plan_.stream;
    tile.slab = plan_.slab;
    tile.src = macro_src_ + a_ * plan_.element_bytes;
    tile.dst = macro_dst_ + b_ * plan_.element_bytes;
    tile.kind = TileKind::kRuns;
    tile.src_touches = false;
    if (!plan_.runs && !plan_.direct) ChooseKind(tile);
    // Rows that touch are found by their first offset alone.
    FillOffsets(plan_.b, &PermuteLoop::src_stride, b_, tile.src_touches ? 1 : tile.nb,
                tile.src_offsets);
    FillOffsets(plan_.a, &PermuteLoop::dst_stride, a_,
                tile.kind == TileKind::kInterleave ? 1 : tile.na, tile.dst_offsets);
    a_ += plan_.tile_a;
    return true;
  }

 private:
  void ChooseKind(Tile& tile) const {
    tile.src_touches =
        Touches(plan_.b, &PermuteLoop::src_stride, b_, tile.nb, tile.na * tile.element_bytes);
    tile.kind = TileKind::kTranspose;
    if (tile.na >= 2 && tile.na <= 4 && tile.nb > 4 && tile.src_touches) {
      tile.kind = TileKind::kDeinterleave;
    } else if (tile.nb >= 2 && tile.nb <= 4 && tile.na > 4 &&
               Touches(plan_.a, &PermuteLoop::dst_stride, a_, tile.na,
                       tile.nb * tile.element_bytes)) {
      tile.kind = TileKind::kInterleave;
    }
  }

  void EnterMacro() {
    const int64_t macros_a = plan_.MacrosA();
    const int64_t macros_b = plan_.MacrosB();
    int64_t item = item_;
    a_begin_ = item % macros_a * plan_.macro_a;
    item /= macros_a;
    b_ = item % macros_b * plan_.macro_b;
    item /= macros_b;
    macro_src_ = src_;
    macro_dst_ = dst_;
    for (size_t i = plan_.rest.size(); i-- > 0;) {
      const int64_t index = item % plan_.rest[i].extent;
      item /= plan_.rest[i].extent;
      macro_src_ += index * plan_.rest[i].src_stride;
      macro_dst_ += index * plan_.rest[i].dst_stride;
    }
    a_ = a_begin_;
    a_end_ = std::min(plan_.a.total, a_begin_ + plan_.macro_a);
    b_end_ = std::min(plan_.b.total, b_ + plan_.macro_b);
  }

  const TilePlan& plan_;
  int64_t item_;
  const int64_t end_;
  const uint8_t* const src_;
  uint8_t* const dst_;
  const uint8_t* macro_src_ = nullptr;
  uint8_t* macro_dst_ = nullptr;
  int64_t a_begin_ = 0;
  int64_t a_ = 0;
  int64_t a_end_ = 0;
  int64_t b_ = 0;
  int64_t b_end_ = 0;
};

int ThreadCount(const PermuteOptions& options, int64_t bytes) {
  if (options.threads > 0) return options.threads;
  if (bytes < kThreadBytes) return 1;
  return std::min(2u, std::max(1u, std::thread::hardware_concurrency())) == 2 ? 2 : 1;
}

/// Calls work(begin, end) for pieces of 0 … total-1 on several threads. The first thread goes up
/// from the begin, the second one down from the end until they meet: each of them mostly finds
/// again what the last call left in its own cache.
template <typename Work>
void Parallel(int threads, int64_t total, const Work& work) {
  const int64_t piece = std::max<int64_t>(1, total / (int64_t{16} * threads));
  const int64_t pieces = (total + piece - 1) / piece;
  std::atomic<int64_t> taken{0};
  const auto loop = [&](bool second) {
    for (int64_t i = 0; taken.fetch_add(1) < pieces; ++i) {
      const int64_t begin = (second ? pieces - 1 - i : i) * piece;
      work(begin, std::min(total, begin + piece));
    }
    internal::StreamFence();
  };
  if (threads > 1) {
    internal::RunOnTwoThreads(loop);
  } else {
    loop(false);
  }
}

}  // namespace

namespace internal {

void RunLoops(std::span<const PermuteLoop> loops, int64_t run_bytes, const uint8_t* src,
              uint8_t* dst, const PermuteOptions& options) {
  if (loops.empty()) {
    const bool stream = options.streaming == PermuteOptions::Streaming::kAlways;
    const int threads = ThreadCount(options, run_bytes);
    constexpr int64_t kPiece = 1 << 20;
    Parallel(threads, (run_bytes + kPiece - 1) / kPiece, [&](int64_t begin, int64_t end) {
      const int64_t from = begin * kPiece;
      CopyBytes(src + from, dst + from, std::min(run_bytes, end * kPiece) - from, stream);
    });
    return;
  }
  const TilePlan plan = MakeTilePlan(loops, run_bytes, dst, options);
  const int64_t macros = plan.MacrosA() * plan.MacrosB() * plan.rest_total;
  Parallel(ThreadCount(options, plan.Bytes()), macros, [&](int64_t begin, int64_t end) {
    static thread_local std::unique_ptr<Scratch> scratch = std::make_unique<Scratch>();
    MacroTiles tiles(plan, begin, end, src, dst);
    if (plan.direct) {
      RunDirectTiles(tiles, *scratch);
    } else {
      RunTiles(tiles, *scratch);
    }
  });
}

}  // namespace internal

void PermutePlan::RunPacked4(const uint8_t* src, uint8_t* dst,
                             const PermuteOptions& options) const {
  int64_t elements = run_bytes_;
  for (const PermuteLoop& loop : loops_) elements *= loop.extent;
  std::vector<uint8_t> unpacked(static_cast<size_t>(elements));
  std::vector<uint8_t> permuted(static_cast<size_t>(elements));
  internal::UnpackNibbles(src, unpacked.data(), elements, low_nibble_first_);
  internal::RunLoops(loops_, run_bytes_, unpacked.data(), permuted.data(), options);
  internal::PackNibbles(permuted.data(), dst, elements, low_nibble_first_);
}

void PermutePlan::Run(const void* src, void* dst, const PermuteOptions& options) const {
  if (bytes_ == 0) return;
  const uint8_t* from = static_cast<const uint8_t*>(src);
  uint8_t* to = static_cast<uint8_t*>(dst);
  if (packed4_) {
    RunPacked4(from, to, options);
  } else {
    internal::RunLoops(loops_, run_bytes_, from, to, options);
  }
}

}  // namespace hlokit
