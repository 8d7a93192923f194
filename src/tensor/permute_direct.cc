// How is a tile moved when its output rows consist of whole lines? Square micro tiles of one line
// by one line: E source rows are read a line at a time into a buffer in the first-level cache (so
// that no line is read twice, whatever the distance of the rows does to the cache), transposed in
// registers, and written as whole lines straight to the output. No other stage: one pass over
// memory. Where the rows of the output do not consist of whole lines but touch each other, a slab
// of them is put together first.

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/tensor/permute_direct.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "src/tensor/permute_copy-inl.h"
#include "src/tensor/permute_kernels.h"
#include "src/tensor/permute_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hlokit::internal {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void RunDirectTilesImpl(TileSource& source, Scratch& scratch) {
  Tile tile;
  tile.src_offsets = scratch.offsets[0][0];
  tile.dst_offsets = scratch.offsets[0][1];
  while (source.Next(tile)) {
    const int64_t size = tile.element_bytes;
    for (int64_t a = 0; a < tile.na; ++a) {
      for (int64_t b = 0; b < tile.nb; ++b) {
        memcpy(tile.dst + tile.dst_offsets[a] + b * size, tile.src + tile.src_offsets[b] + a * size,
               static_cast<size_t>(size));
      }
    }
  }
}

#else

constexpr int64_t kLinesAhead = 2;  // how far ahead of the reads the prefetches run
constexpr int64_t kMostAcross = 4;
static_assert(kMostAcross * kLine * kLine <= kStageInBytes);

/// Writes one line; with `stream` past the cache (the address is then aligned).
template <bool kStream, class D>
HWY_INLINE void StoreLine(D d, const hn::Vec<D>* parts, hn::TFromD<D>* to) {
  constexpr size_t kParts = kLine / sizeof(hn::TFromD<D>) / hn::MaxLanes(D());
#pragma GCC unroll 4
  for (size_t part = 0; part < kParts; ++part) {
    if constexpr (kStream) {
      hn::Stream(parts[part], d, to + part * hn::MaxLanes(D()));
    } else {
      hn::StoreU(parts[part], d, to + part * hn::MaxLanes(D()));
    }
  }
}

/// `lines`: E lines, one per source row. Row i of the transposed square goes to dst + offsets[i];
/// this is about the rows of one quarter, which come from 16 bytes of every line.
template <typename T, bool kStream>
HWY_INLINE void TransposeQuarter(const uint8_t* lines, uint8_t* dst, const int64_t* offsets,
                                 int quarter) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int R = 16 / sizeof(T);
  constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
  constexpr int kParts = kLine / static_cast<int64_t>(sizeof(T)) / kLanes;
  V result[R][kParts];
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part) {
    const uint8_t* in = lines + part * kLanes * kLine + quarter * 16;
    V v[R], w[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) v[i] = LoadBlocks(d, in + i * kLine, R * kLine);
    TransposeBlocks<Tag<T>, R>(d, v, w);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) result[i][part] = w[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    StoreLine<kStream>(d, result[i], reinterpret_cast<T*>(dst + offsets[quarter * R + i]));
  }
}

template <typename T, bool kStream>
HWY_INLINE void TransposeSquare(const uint8_t* lines, uint8_t* dst, const int64_t* offsets) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    TransposeQuarter<T, kStream>(lines, dst, offsets, quarter);
  }
}

HWY_INLINE void CopyLine(const uint8_t* from, uint8_t* to) {
  const Tag<uint8_t> d;
  constexpr int64_t kLanes = hn::MaxLanes(Tag<uint8_t>());
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLine; i += kLanes) hn::Store(hn::LoadU(d, from + i), d, to + i);
}

/// A square at the rim of a tile: fewer than E rows or columns.
template <typename T>
void TransposeRim(const Tile& tile, int64_t a, int64_t b, int64_t na, int64_t nb, uint8_t* lines,
                  uint8_t* out_lines) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t E = kLine / kSize;
  for (int64_t i = 0; i < nb; ++i) {
    memcpy(lines + i * kLine, tile.src + tile.src_offsets[b + i] + a * kSize,
           static_cast<size_t>(na * kSize));
  }
  int64_t offsets[E];
  for (int64_t i = 0; i < E; ++i) offsets[i] = i * kLine;
  TransposeSquare<T, false>(lines, out_lines, offsets);
  for (int64_t i = 0; i < na; ++i) {
    memcpy(tile.dst + tile.dst_offsets[a + i] + b * kSize, out_lines + offsets[i],
           static_cast<size_t>(nb * kSize));
  }
}

/// Two squares of E rows each, E columns, within the cache. Their quarters are written in turns:
/// where the output rows are a multiple of a page apart, all rows of a square fall into one set of
/// the first-level cache, and so many at once would drive each other out before they are written.
template <typename T>
HWY_INLINE void SquarePair(const Tile& tile, int64_t a, int64_t b, uint8_t* lines) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t E = kLine / kSize;
  for (int64_t i = 0; i < 2 * E; ++i) {
    const uint8_t* from = tile.src + a * kSize + tile.src_offsets[b + i];
    CopyLine(from, lines + i * kLine);
    __builtin_prefetch(from + kLinesAhead * kLine);
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int64_t rows = (turn + quarter) % 2 * E;
      TransposeQuarter<T, false>(lines + rows * kLine, tile.dst + (b + rows) * kSize,
                                 tile.dst_offsets + a, quarter);
    }
  }
}

/// E rows from b on, all columns: squares, several side by side where LinesAcross says so. The last
/// squares may overlap: they write the same bytes again.
template <typename T, bool kStream, int64_t kAcross>
HWY_INLINE void SquaresOfRows(const Tile& tile, int64_t a_begin, int64_t a_end, int64_t b,
                              uint8_t* lines) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t E = kLine / kSize;
  constexpr int64_t kAhead = (kAcross == 1 ? kLinesAhead : kAcross) * kLine;
  for (int64_t next = a_begin; next < a_end;) {
    const int64_t a = next + E <= tile.na ? next : tile.na - E;
    const int64_t across = kAcross == 1 || a + kAcross * E <= a_end ? kAcross : 1;
    const uint8_t* src = tile.src + a * kSize;
    const int64_t* offsets = tile.src_offsets + b;
#pragma GCC unroll 4
    for (int64_t i = 0; i < E; ++i) {
      const uint8_t* from = src + offsets[i];
      for (int64_t k = 0; k < across; ++k) {
        CopyLine(from + k * kLine, lines + (k * E + i) * kLine);
        __builtin_prefetch(from + k * kLine + kAhead);
      }
    }
    for (int64_t k = 0; k < across; ++k) {
      TransposeSquare<T, kStream>(lines + k * E * kLine, tile.dst + b * kSize,
                                  tile.dst_offsets + a + k * E);
    }
    next = a + across * E;
  }
}

/// E rows from b on of a tile that is narrower than a line: strips of 16 bytes, the last one
/// overlapping.
template <typename T, bool kStream>
HWY_INLINE void StripsOfRows(const Tile& tile, int64_t b) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t R = 16 / kSize;
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
  // The rows are too short for the prefetchers of the machine to see where they go on.
  constexpr int64_t kAhead = 2 * kLine / kSize;
  int64_t ahead_end = b + kAhead + kLine / kSize;
  if (ahead_end > tile.nb) ahead_end = tile.nb;
  for (int64_t i = b + kAhead; i < ahead_end; ++i) {
    __builtin_prefetch(tile.src + tile.src_offsets[i]);
  }
  for (int64_t next = 0; next < tile.na; next += R) {
    const int64_t a = next + R <= tile.na ? next : tile.na - R;
    for (int64_t part = 0; part < kLine / kSize; part += kLanes) {
      V v[R], w[R];
#pragma GCC unroll 16
      for (int64_t i = 0; i < R; ++i) {
        v[i] = LoadRows(d, tile.src + a * kSize, tile.src_offsets + b + part + i, R);
      }
      TransposeBlocks<Tag<T>, R>(d, v, w);
#pragma GCC unroll 16
      for (int64_t i = 0; i < R; ++i) {
        T* to = reinterpret_cast<T*>(tile.dst + tile.dst_offsets[a + i] + (b + part) * kSize);
        if constexpr (kStream) {
          hn::Stream(w[i], d, to);
        } else {
          hn::StoreU(w[i], d, to);
        }
      }
    }
  }
}

/// A tile, left over at an end, that has not enough rows for a square or not enough columns for a
/// strip.
template <typename T>
void NarrowTile(const Tile& tile, uint8_t* lines, uint8_t* out_lines) {
  constexpr int64_t E = kLine / static_cast<int64_t>(sizeof(T));
  for (int64_t b = 0; b < tile.nb; b += E) {
    const int64_t nb = b + E > tile.nb ? tile.nb - b : E;
    for (int64_t a = 0; a < tile.na; a += E) {
      TransposeRim<T>(tile, a, b, a + E > tile.na ? tile.na - a : E, nb, lines, out_lines);
    }
  }
}

template <typename T, bool kStream, int64_t kAcross>
void DirectTile(const Tile& tile, uint8_t* lines, uint8_t* out_lines) {
  constexpr int64_t E = kLine / static_cast<int64_t>(sizeof(T));
  constexpr int64_t R = 16 / static_cast<int64_t>(sizeof(T));
  if (tile.nb < E || tile.na < R) {
    NarrowTile<T>(tile, lines, out_lines);
    return;
  }
  // Within the cache the lines of one output row are written one after the other; past the cache
  // the lines of one source row are read one after the other.
  const int64_t columns = kStream ? tile.na : E;
  for (int64_t a = 0; a < tile.na; a += columns) {
    int64_t next = 0;
    if (!kStream && a + E <= tile.na) {
      for (; next + 2 * E <= tile.nb; next += 2 * E) SquarePair<T>(tile, a, next, lines);
    }
    for (; next < tile.nb; next += E) {
      const int64_t b = next + E <= tile.nb ? next : tile.nb - E;
      if (tile.na < E) {
        StripsOfRows<T, kStream>(tile, b);
      } else {
        SquaresOfRows<T, kStream, kAcross>(tile, a, a + columns < tile.na ? a + columns : tile.na,
                                           b, lines);
      }
    }
  }
}

/// Rows whose distance is a multiple of a large power of two fall into the same sets of the cache.
/// Many of them at once (a square of small elements has 32 or 64) would drive each other's
/// prefetched lines out: then several lines of a row are read at a time.
template <typename T>
bool RowsMeetInTheCache(const Tile& tile) {
  constexpr int64_t kSameSets = 64 << 10;
  return sizeof(T) <= 2 && tile.nb >= 2 &&
         (tile.src_offsets[1] - tile.src_offsets[0]) % kSameSets == 0;
}

template <typename T>
void Direct(const Tile& tile, Scratch& scratch) {
  uint8_t* lines = scratch.stage_in[0];
  uint8_t* out_lines = scratch.stage_in[1];
  if (tile.slab) {
    Tile staged = tile;
    staged.dst = scratch.stage_out;
    DirectTile<T, false, 1>(staged, lines, out_lines);
    CopyStreaming(scratch.stage_out, tile.dst, tile.na * tile.nb * tile.element_bytes);
  } else if (!tile.stream) {
    DirectTile<T, false, 1>(tile, lines, out_lines);
  } else if (RowsMeetInTheCache<T>(tile)) {
    DirectTile<T, true, kMostAcross>(tile, lines, out_lines);
  } else {
    DirectTile<T, true, 1>(tile, lines, out_lines);
  }
}

void RunDirectTilesImpl(TileSource& source, Scratch& scratch) {
  Tile tile;
  tile.src_offsets = scratch.offsets[0][0];
  tile.dst_offsets = scratch.offsets[0][1];
  while (source.Next(tile)) {
    switch (tile.element_bytes) {
      case 1:
        Direct<uint8_t>(tile, scratch);
        break;
      case 2:
        Direct<uint16_t>(tile, scratch);
        break;
      case 4:
        Direct<uint32_t>(tile, scratch);
        break;
      default:
        Direct<uint64_t>(tile, scratch);
    }
  }
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace hlokit::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hlokit::internal {

HWY_EXPORT(RunDirectTilesImpl);

void RunDirectTiles(TileSource& source, Scratch& scratch) {
  HWY_DYNAMIC_DISPATCH(RunDirectTilesImpl)(source, scratch);
}

}  // namespace hlokit::internal
#endif  // HWY_ONCE
