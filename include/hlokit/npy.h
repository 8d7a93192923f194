#ifndef HLOKIT_NPY_H_
#define HLOKIT_NPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// What is known about a dense array without its bytes.
struct ArrayInfo {
  /// numpy's description of the element: "<f4", "|V2" (how bf16 is stored), "|V1" (fp8), or, for
  /// structured types, the list literal as it stands in the header.
  std::string descr;
  int64_t item_bytes = 0;
  bool fortran_order = false;  ///< the first dimension is contiguous, not the last
  std::vector<int64_t> shape;  ///< empty for a 0-d array
  int64_t elements = 1;
  int64_t bytes = 0;  ///< elements * item_bytes
};

struct NpyHeader {
  int major_version = 1;  ///< 1 to 3
  ArrayInfo array;
  int64_t data_offset = 0;  ///< where the elements start in the file
};

/// Bytes per element of a numpy type description such as "<f4", "|V2" or "<M8[ns]". Fails with
/// kUnsupported (T015) on objects ("|O": they are pickles) and on everything that numpy does not
/// write.
Result<int64_t> ItemBytesOfDescr(std::string_view descr);

/// Parses the start of a .npy file; `file_bytes` is the size of the whole file. Fails with
/// kCannotParse: T010 no magic, T011 version, T012 malformed header, T013 less data than promised,
/// T014 more data.
Result<NpyHeader> ParseNpyHeader(std::string_view bytes, uint64_t file_bytes);

/// A .npy file whose elements are mapped, not read: files larger than memory are fine.
class NpyFile {
 public:
  static Result<NpyFile> Open(const std::string& path);
  const NpyHeader& header() const { return header_; }
  const ArrayInfo& array() const { return header_.array; }
  std::span<const std::byte> data() const { return data_; }

 private:
  std::shared_ptr<void> mapping_;
  NpyHeader header_;
  std::span<const std::byte> data_;
};

/// The header that numpy would write (version 1 if it fits, else 2, else 3 for names outside
/// latin-1); its length is a multiple of 64.
std::string MakeNpyHeader(const ArrayInfo& array);

/// Receives bytes in order.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

/// Writes a .npy file under a temporary name, then renames it. `write_data` must deliver
/// array.bytes bytes. With `sync` the bytes are on the disk before the file gets its name.
Status WriteNpyFile(const std::string& path, const ArrayInfo& array,
                    const std::function<Status(const ByteSink&)>& write_data, bool sync = false);

}  // namespace hlokit

#endif  // HLOKIT_NPY_H_
