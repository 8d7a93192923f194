// How are large files read and written? Read through a mapping, written piece by piece under a
// temporary name. Writing through a mapping would turn a full disk into a signal, so it is not
// done.

#include "src/tensor/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "src/tensor/fs_step.h"

namespace hlokit::internal {
namespace {

FsHook& Hook() {
  static FsHook hook;
  return hook;
}

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

void SetFsHook(FsHook hook) { Hook() = std::move(hook); }
int FsStep(std::string_view operation) { return Hook() ? Hook()(operation) : 0; }

std::unexpected<Error> FileError(DiagId id, std::string_view verb, const std::string& path,
                                 int error_number) {
  std::string help;
  if (error_number == ENOSPC) help = "free some space; nothing was changed";
  if (error_number == EACCES || error_number == EROFS) help = "check the permissions of the folder";
  return MakeError(ExitCode::kIo, id,
                   fmt::format("cannot {} '{}': {}", verb, path, std::strerror(error_number)),
                   std::move(help));
}

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  std::string temporary = path + ".tmp-XXXXXX";
  int error = FsStep("create");
  if (error == 0) {
    file.fd_ = mkostemp(temporary.data(), O_CLOEXEC);
    error = file.fd_ < 0 ? errno : 0;
  }
  if (error != 0) return FileError(DiagId::kCannotWrite, "write", path, error);
  file.temporary_ = temporary;
  return file;
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(buffer_, other.buffer_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

namespace {

int WriteFully(int fd, const char* data, size_t size) {
  while (size > 0) {
    if (int error = FsStep("write"); error != 0) return error;
    const ssize_t written = write(fd, data, std::min(size, size_t{64} << 20));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

}  // namespace

Status OutputFile::Flush() {
  const int error = WriteFully(fd_, buffer_.data(), buffer_.size());
  buffer_.clear();
  if (error != 0) return FileError(DiagId::kCannotWrite, "write", path_, error);
  return {};
}

Status OutputFile::Write(std::span<const std::byte> bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  if (buffer_.size() + bytes.size() > kBufferBytes) TRY(Flush());
  const char* data = reinterpret_cast<const char*>(bytes.data());
  if (bytes.size() < kBufferBytes) {
    buffer_.append(data, bytes.size());
    return {};
  }
  if (int error = WriteFully(fd_, data, bytes.size()); error != 0) {
    return FileError(DiagId::kCannotWrite, "write", path_, error);
  }
  return {};
}

Status OutputFile::Reserve(int64_t bytes) {
  int error = FsStep("reserve");
  if (error == 0 && fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 && errno == ENOSPC)
    error = ENOSPC;
  if (error != 0) return FileError(DiagId::kCannotWrite, "write", path_, error);
  return {};
}

Status OutputFile::Commit(bool sync) {
  TRY(Flush());
  struct stat old {};
  const mode_t mask = umask(0);
  umask(mask);
  const bool exists = stat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  int error = 0;
  if (fchmod(fd_, exists ? old.st_mode & 07777 : 0666 & ~mask) != 0) error = errno;
  if (error == 0 && sync) {
    error = FsStep("fsync");
    if (error == 0 && fsync(fd_) != 0) error = errno;
  }
  if (error == 0) error = FsStep("rename");
  if (error == 0 && rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) return FileError(DiagId::kCannotWrite, "write", path_, error);
  temporary_.clear();
  close(std::exchange(fd_, -1));
  return {};
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(DiagId::kCannotOpen, "open", path, errno);
  struct stat info {};
  int error = fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (error == 0 && !S_ISREG(info.st_mode)) {
    close(fd);
    return MakeError(ExitCode::kIo, DiagId::kCannotOpen,
                     fmt::format("'{}' is not a regular file", path),
                     "save it to a file first: large arrays are mapped, not read");
  }
  MappedFile file;
  if (error == 0 && info.st_size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      error = errno;
    } else {
      file.data_ = static_cast<const char*>(data);
      file.size_ = static_cast<size_t>(info.st_size);
    }
  }
  close(fd);
  if (error != 0) return FileError(DiagId::kCannotOpen, "read", path, error);
  return file;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace hlokit::internal
