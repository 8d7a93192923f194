#ifndef HLOKIT_SRC_TENSOR_PERMUTE_KERNELS_H_
#define HLOKIT_SRC_TENSOR_PERMUTE_KERNELS_H_

// The border between the driver (plain C++, permute_run.cc) and the kernels (Highway,
// permute_kernels.cc). A tile is a small two-dimensional transposition: "a" counts elements that
// are contiguous in the source, "b" counts elements that are contiguous in the output; the offset
// tables say where the rows start.

#include <cstdint>
#include <string>
#include <vector>

namespace hlokit::internal {

enum class TileKind : uint8_t {
  kRuns,          ///< the element is a run of any length; rows are copied
  kTranspose,     ///< 1, 2, 4 or 8 byte elements through registers
  kDeinterleave,  ///< a is 2, 3 or 4 and the source rows touch: [b][a] -> [a][b]
  kInterleave,    ///< b is 2, 3 or 4 and the output rows touch: [b][a] -> [a][b]
};

/// Room for one tile as it was read (twice: the next tile is read while this one is written) …
inline constexpr int64_t kStageInBytes = 160 << 10;
/// … and for the output rows of some of its columns.
inline constexpr int64_t kStageOutBytes = 72 << 10;
/// Every stage has this much room behind its last row, for whole-vector reads and writes.
inline constexpr int64_t kStageSlack = 8192;
/// Upper bound of either side of a tile in elements; the driver keeps to it.
inline constexpr int64_t kMaxTileRows = 2048;

struct Tile {
  TileKind kind = TileKind::kRuns;
  const uint8_t* src = nullptr;
  uint8_t* dst = nullptr;
  int64_t* src_offsets = nullptr;  ///< nb offsets: where row b starts; one if src_touches
  int64_t* dst_offsets = nullptr;  ///< na offsets: where row a starts; one for kInterleave
  int64_t na = 0;
  int64_t nb = 0;
  int64_t element_bytes = 0;
  bool stream = false;       ///< write whole lines past the cache
  bool src_touches = false;  ///< row b+1 starts where row b ends
  bool slab = false;         ///< direct tiles: the output rows touch, write them as one piece
};

/// Scratch of one thread. A tile goes source -> stage_in -> registers -> stage_out -> output.
struct Scratch {
  alignas(64) uint8_t stage_in[2][kStageInBytes + kStageSlack];
  alignas(64) uint8_t stage_out[kStageOutBytes + kStageSlack];
  int64_t offsets[2][2][kMaxTileRows];
};

/// Distance between the rows of a tile in stage_in: an odd number of lines, so that the rows spread
/// over all sets of the cache; rows that touch in the source stay together.
inline int64_t StageInPitch(int64_t row_bytes, bool touches) {
  return touches ? row_bytes : ((row_bytes + 63) / 64 | 1) * 64;
}
inline int64_t StageOutPitch(int64_t row_bytes) { return ((row_bytes + 63) / 64 | 1) * 64; }
/// Columns that go to stage_out at a time; a multiple of the elements per 16-byte block.
inline int64_t ColumnsAtOnce(int64_t element_bytes) {
  return element_bytes == 1 ? 32 : 64 / element_bytes;
}

/// Enumerates tiles; one virtual call per 16 KiB or so.
class TileSource {
 public:
  virtual ~TileSource() = default;
  /// Fills all fields of the tile (the offset tables exist already); false at the end.
  virtual bool Next(Tile& tile) = 0;
};

/// Moves all tiles with the best kernel of this machine (or the one of
/// hwy::SetSupportedTargetsForTest). The next tile is read while the current one is written, so
/// that memory is busy in both directions.
void RunTiles(TileSource& source, Scratch& scratch);

/// Moves all tiles in squares of one line by one line, without stages; with `stream` every line of
/// the output must be whole and aligned, but for those at the rim.
void RunDirectTiles(TileSource& source, Scratch& scratch);

/// Copies n bytes; with `stream` whole 64-byte lines by-pass the cache.
void CopyBytes(const uint8_t* src, uint8_t* dst, int64_t n, bool stream);

/// Name of the target whose kernels run now, for instance "AVX2".
std::string KernelTarget();

/// Waits until streamed lines are visible to other threads.
void StreamFence();

/// Unpacks n 4-bit elements to bytes, and back. `low_first`: the first element is the low half.
void UnpackNibbles(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first);
void PackNibbles(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PERMUTE_KERNELS_H_
