#ifndef HLOKIT_SRC_TENSOR_OUTPUT_FILE_H_
#define HLOKIT_SRC_TENSOR_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hlokit/result.h"

namespace hlokit::internal {

/// Streams a new file: all bytes go to a temporary name in the same folder, Commit() gives it its
/// final name. Without Commit() nothing is left behind. Works for files that are larger than
/// memory.
class OutputFile {
 public:
  /// Fails with kIo when the folder cannot be written.
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view bytes) {
    return Write(std::as_bytes(std::span(bytes.data(), bytes.size())));
  }
  /// Asks for disk space in advance, so that a full disk shows before the work; never fails for
  /// other reasons.
  Status Reserve(int64_t bytes);
  /// Flushes, renames. With `sync` the bytes are on the disk before the name changes.
  Status Commit(bool sync);
  int64_t size() const { return size_; }

 private:
  OutputFile() = default;
  Status Flush();

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int fd_ = -1;
  int64_t size_ = 0;
};

/// A whole file mapped for reading. Regular files only: a pipe has no pages.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

std::unexpected<Error> FileError(DiagId id, std::string_view verb, const std::string& path,
                                 int error_number);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_OUTPUT_FILE_H_
