// How is one tile moved? Through registers, in one source for every vector width (Highway).
//
// A vector is a row of 16-byte blocks. Block k of a loaded vector comes from source row k*R (R:
// elements per block), so that the interleave network, which works inside blocks, leaves 16*blocks
// contiguous bytes of one output row in each register: no lane crossing at any width. Tiles are
// padded to whole vectors in the two stages, so the inner loops have no tails; the exact sizes
// matter only where bytes leave a stage.

#include "src/tensor/permute_kernels.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/tensor/permute_kernels.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "src/tensor/permute_copy-inl.h"
#include "src/tensor/permute_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hlokit::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void CopyOut(const uint8_t* src, uint8_t* dst, int64_t n, bool stream) {
  if (stream) {
    CopyStreaming(src, dst, n);
  } else {
    CopyAny(src, dst, n);
  }
}

HWY_INLINE int64_t InPitch(const Tile& tile) {
  return StageInPitch(tile.na * tile.element_bytes, tile.src_touches);
}

// Reads a tile piece by piece into a stage: 16 rows at a time, because that is how many streams the
// prefetchers of current machines follow; along the rows first.
struct Reader {
  const Tile* tile;
  uint8_t* stage;
  int64_t pitch = 0;
  int64_t row = 0;
  int64_t columns = 1;
  int64_t pieces = 0;
  int64_t done = 0;

  static constexpr int64_t kRows = 16;
  static constexpr int64_t kBytes = 256;
  static constexpr int64_t kTouchingBytes = 2048;

  Reader(const Tile* next, uint8_t* to) : tile(next), stage(to) {
    if (tile == nullptr || tile->kind == TileKind::kRuns) return;
    pitch = InPitch(*tile);
    row = tile->na * tile->element_bytes;
    if (tile->src_touches) {  // one long row
      pieces = (tile->nb * row + kTouchingBytes - 1) / kTouchingBytes;
      return;
    }
    columns = (row + kBytes - 1) / kBytes;
    pieces = (tile->nb + kRows - 1) / kRows * columns;
  }

  void ReadPiece(int64_t piece) const {
    if (tile->src_touches) {
      const int64_t begin = piece * kTouchingBytes;
      const int64_t left = tile->nb * row - begin;
      CopyAny(tile->src + tile->src_offsets[0] + begin, stage + begin,
              left < kTouchingBytes ? left : kTouchingBytes);
      return;
    }
    const int64_t b_begin = piece / columns * kRows;
    const int64_t b_end = b_begin + kRows < tile->nb ? b_begin + kRows : tile->nb;
    const int64_t from = piece % columns * kBytes;
    const int64_t n = from + kBytes < row ? kBytes : row - from;
    // Lines of the piece after this one start to travel now: a new group of rows is a new set of
    // streams, which the prefetchers see too late.
    const bool last = piece + 1 == pieces;
    const int64_t ahead_b = last ? b_begin : (piece + 1) / columns * kRows;
    const int64_t ahead_from = last ? from : (piece + 1) % columns * kBytes;
    for (int64_t b = b_begin; b < b_end; ++b) {
      const int64_t ahead = ahead_b + b - b_begin < tile->nb ? ahead_b + b - b_begin : b;
      const uint8_t* p = tile->src + tile->src_offsets[ahead] + ahead_from;
      for (int64_t i = 0; i < kBytes; i += kLine) __builtin_prefetch(p + i);
      CopyAny(tile->src + tile->src_offsets[b] + from, stage + b * pitch + from, n);
    }
  }

  // Reads on until part/whole of the tile is there.
  void Upto(int64_t part, int64_t whole) {
    const int64_t target = part >= whole ? pieces : pieces * part / whole;
    for (; done < target; ++done) ReadPiece(done);
  }
};

// Writes rows a_begin … a_end-1 of the tile and, in step with it, reads the next tile.
void WriteRows(const Tile& tile, const uint8_t* stage_out, int64_t pitch, int64_t a_begin,
               int64_t a_end, Reader& reader) {
  const int64_t row = tile.nb * tile.element_bytes;
  for (int64_t a = a_begin; a < a_end; ++a) {
    CopyOut(stage_out + (a - a_begin) * pitch, tile.dst + tile.dst_offsets[a], row, tile.stream);
    reader.Upto(a + 1, tile.na);
  }
}

// Runs of kBytes (0: of any length). Short runs are gathered first, so that whole lines are
// streamed.
template <int64_t kBytes>
HWY_INLINE void GatherRuns(const Tile& tile, const uint8_t* src, uint8_t* dst) {
  const int64_t n = kBytes != 0 ? kBytes : tile.element_bytes;
  for (int64_t b = 0; b < tile.nb; ++b) {
    if constexpr (kBytes != 0) {
      memcpy(dst + b * n, src + tile.src_offsets[b], kBytes);
    } else {
      CopyAny(src + tile.src_offsets[b], dst + b * n, n);
    }
  }
}

void Runs(const Tile& tile, uint8_t* stage_out) {
  const int64_t n = tile.element_bytes;
  for (int64_t a = 0; a < tile.na; ++a) {
    uint8_t* dst = tile.dst + tile.dst_offsets[a];
    const uint8_t* src = tile.src + a * n;
    const bool direct = n >= kLine && (n % kLine == 0 || n >= 1024);
    if (direct) {
      for (int64_t b = 0; b < tile.nb; ++b) {
        CopyOut(src + tile.src_offsets[b], dst + b * n, n, tile.stream);
      }
      continue;
    }
    uint8_t* out = tile.stream ? stage_out : dst;
    if (n == 16) {
      GatherRuns<16>(tile, src, out);
    } else if (n == 12) {
      GatherRuns<12>(tile, src, out);
    } else if (n == 6) {
      GatherRuns<6>(tile, src, out);
    } else if (n == 3) {
      GatherRuns<3>(tile, src, out);
    } else if (n == 32) {
      GatherRuns<32>(tile, src, out);
    } else {
      GatherRuns<0>(tile, src, out);
    }
    if (tile.stream) CopyStreaming(out, dst, tile.nb * n);
  }
}

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void Move(const Tile& tile, const uint8_t* stage_in, uint8_t* /*stage_out*/, Reader& reader) {
  const int64_t size = sizeof(T);
  const int64_t in_pitch = InPitch(tile);
  for (int64_t a = 0; a < tile.na; ++a) {
    const bool touches = tile.kind == TileKind::kInterleave;
    uint8_t* out =
        tile.dst + (touches ? tile.dst_offsets[0] + a * tile.nb * size : tile.dst_offsets[a]);
    for (int64_t b = 0; b < tile.nb; ++b)
      memcpy(out + b * size, stage_in + b * in_pitch + a * size, sizeof(T));
    reader.Upto(a + 1, tile.na);
  }
}

#else  // vectors

// Columns of R elements of all rows, starting at `in`, to R rows of the output.
template <typename T>
HWY_INLINE void TransposeColumns(const uint8_t* in, int64_t in_pitch, int64_t nb,
                                 uint8_t* const* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int R = 16 / sizeof(T);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t b = 0; b < nb; b += lanes) {
    V v[R], w[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) v[i] = LoadBlocks(d, in + i * in_pitch, R * in_pitch);
    TransposeBlocks<Tag<T>, R>(d, v, w);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      hn::StoreU(w[i], d, reinterpret_cast<T*>(out[i] + b * static_cast<int64_t>(sizeof(T))));
    }
    in += lanes * in_pitch;
  }
}

template <typename T>
void Transpose(const Tile& tile, const uint8_t* stage_in, uint8_t* stage_out, Reader& reader) {
  constexpr int64_t R = 16 / sizeof(T);
  constexpr int64_t kSize = sizeof(T);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  const int64_t in_pitch = InPitch(tile);
  uint8_t* out[R];
  if (!tile.stream && tile.na % R == 0 && tile.nb % lanes == 0) {
    for (int64_t a = 0; a < tile.na; a += R) {
      for (int64_t i = 0; i < R; ++i) out[i] = tile.dst + tile.dst_offsets[a + i];
      TransposeColumns<T>(stage_in + a * kSize, in_pitch, tile.nb, out);
      reader.Upto(a + R, tile.na);
    }
    return;
  }
  const int64_t out_pitch = StageOutPitch(tile.nb * kSize);
  const int64_t columns = ColumnsAtOnce(kSize);
  for (int64_t begin = 0; begin < tile.na; begin += columns) {
    const int64_t end = begin + columns < tile.na ? begin + columns : tile.na;
    for (int64_t a = begin; a < end; a += R) {
      for (int64_t i = 0; i < R; ++i) out[i] = stage_out + (a - begin + i) * out_pitch;
      TransposeColumns<T>(stage_in + a * kSize, in_pitch, tile.nb, out);
    }
    WriteRows(tile, stage_out, out_pitch, begin, end, reader);
  }
}

// [b][a] -> [a][b] with a in 2 … 4 and touching source rows.
template <typename T>
void Deinterleave(const Tile& tile, const uint8_t* stage_in, uint8_t* stage_out, Reader& reader) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t pitch = (tile.nb + lanes - 1) / lanes * lanes;
  const T* in = reinterpret_cast<const T*>(stage_in);
  T* out = reinterpret_cast<T*>(stage_out);
  for (int64_t b = 0; b < tile.nb; b += lanes) {
    V v0, v1, v2, v3;
    if (tile.na == 2) {
      hn::LoadInterleaved2(d, in + 2 * b, v0, v1);
    } else if (tile.na == 3) {
      hn::LoadInterleaved3(d, in + 3 * b, v0, v1, v2);
      hn::StoreU(v2, d, out + 2 * pitch + b);
    } else {
      hn::LoadInterleaved4(d, in + 4 * b, v0, v1, v2, v3);
      hn::StoreU(v2, d, out + 2 * pitch + b);
      hn::StoreU(v3, d, out + 3 * pitch + b);
    }
    hn::StoreU(v0, d, out + b);
    hn::StoreU(v1, d, out + pitch + b);
  }
  WriteRows(tile, stage_out, pitch * static_cast<int64_t>(sizeof(T)), 0, tile.na, reader);
}

// [b][a] -> [a][b] with b in 2 … 4 and touching output rows.
template <typename T>
void Interleave(const Tile& tile, const uint8_t* stage_in, uint8_t* stage_out, Reader& reader) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t pitch = InPitch(tile);
  const T* in[4];
  for (int64_t b = 0; b < 4; ++b) {
    in[b] = reinterpret_cast<const T*>(stage_in + (b < tile.nb ? b : 0) * pitch);
  }
  T* out = reinterpret_cast<T*>(stage_out);
  for (int64_t a = 0; a < tile.na; a += lanes) {
    const auto v0 = hn::LoadU(d, in[0] + a);
    const auto v1 = hn::LoadU(d, in[1] + a);
    if (tile.nb == 2) {
      hn::StoreInterleaved2(v0, v1, d, out + 2 * a);
    } else if (tile.nb == 3) {
      hn::StoreInterleaved3(v0, v1, hn::LoadU(d, in[2] + a), d, out + 3 * a);
    } else {
      hn::StoreInterleaved4(v0, v1, hn::LoadU(d, in[2] + a), hn::LoadU(d, in[3] + a), d,
                            out + 4 * a);
    }
  }
  CopyOut(stage_out, tile.dst + tile.dst_offsets[0], tile.na * tile.nb * tile.element_bytes,
          tile.stream);
  reader.Upto(1, 1);
}

template <typename T>
void Move(const Tile& tile, const uint8_t* stage_in, uint8_t* stage_out, Reader& reader) {
  switch (tile.kind) {
    case TileKind::kDeinterleave:
      return Deinterleave<T>(tile, stage_in, stage_out, reader);
    case TileKind::kInterleave:
      return Interleave<T>(tile, stage_in, stage_out, reader);
    default:
      return Transpose<T>(tile, stage_in, stage_out, reader);
  }
}

#endif  // vectors

void MoveAny(const Tile& tile, const uint8_t* stage_in, uint8_t* stage_out, Reader& reader) {
  if (tile.kind == TileKind::kRuns) return Runs(tile, stage_out);
  switch (tile.element_bytes) {
    case 1:
      return Move<uint8_t>(tile, stage_in, stage_out, reader);
    case 2:
      return Move<uint16_t>(tile, stage_in, stage_out, reader);
    case 4:
      return Move<uint32_t>(tile, stage_in, stage_out, reader);
    default:
      return Move<uint64_t>(tile, stage_in, stage_out, reader);
  }
}

void RunTilesImpl(TileSource& source, Scratch& scratch) {
  Tile tiles[2];
  for (int i = 0; i < 2; ++i) {
    tiles[i].src_offsets = scratch.offsets[i][0];
    tiles[i].dst_offsets = scratch.offsets[i][1];
  }
  if (!source.Next(tiles[0])) return;
  Reader(&tiles[0], scratch.stage_in[0]).Upto(1, 1);
  for (int current = 0;; current = 1 - current) {
    const int other = 1 - current;
    const bool more = source.Next(tiles[other]);
    Reader reader(more ? &tiles[other] : nullptr, scratch.stage_in[other]);
    MoveAny(tiles[current], scratch.stage_in[current], scratch.stage_out, reader);
    if (!more) return;
  }
}

std::string KernelTargetImpl() { return hwy::TargetName(HWY_TARGET); }

void CopyBytesImpl(const uint8_t* src, uint8_t* dst, int64_t n, bool stream) {
  if (stream) {
    CopyStreaming(src, dst, n);
  } else {
    memcpy(dst, src, static_cast<size_t>(n));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hlokit::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "hwy/cache_control.h"

namespace hlokit::internal {

HWY_EXPORT(RunTilesImpl);
HWY_EXPORT(CopyBytesImpl);
HWY_EXPORT(KernelTargetImpl);

void RunTiles(TileSource& source, Scratch& scratch) {
  HWY_DYNAMIC_DISPATCH(RunTilesImpl)(source, scratch);
}

void CopyBytes(const uint8_t* src, uint8_t* dst, int64_t n, bool stream) {
  HWY_DYNAMIC_DISPATCH(CopyBytesImpl)(src, dst, n, stream);
}

std::string KernelTarget() { return HWY_DYNAMIC_DISPATCH(KernelTargetImpl)(); }

void StreamFence() { hwy::FlushStream(); }

}  // namespace hlokit::internal
#endif  // HWY_ONCE
