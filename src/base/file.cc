#include "hlokit/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace hlokit {
namespace {

std::unexpected<Error> IoError(DiagId id, const std::string& what, const std::string& path,
                               int error_number) {
  return MakeError(ExitCode::kIo, id,
                   fmt::format("cannot {} '{}': {}", what, path, std::strerror(error_number)));
}

/// Closes a file descriptor at the end of its scope.
struct FileDescriptor {
  int fd = -1;
  bool owned = true;
  ~FileDescriptor() {
    if (owned && fd >= 0) close(fd);
  }
};

/// Writes all bytes, returns 0 or errno.
int WriteAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  FileDescriptor file;
  if (path == "-") {
    file.fd = STDIN_FILENO;
    file.owned = false;
  } else {
    file.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file.fd < 0) return IoError(DiagId::kCannotOpen, "open", path, errno);
  }
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return IoError(DiagId::kCannotOpen, "open", path, errno);
  if (S_ISDIR(info.st_mode)) return IoError(DiagId::kCannotOpen, "read", path, EISDIR);
  std::string contents;
  size_t used = 0;
  // One byte more than the size, so that the end of a regular file is seen without growing.
  // Grows without writing zeros that the file overwrites at once.
  auto grow = [&contents](size_t size) {
    contents.resize_and_overwrite(size, [size](char*, size_t) { return size; });
  };
  grow(S_ISREG(info.st_mode) ? std::min<size_t>(info.st_size, max_bytes) + 1 : 1 << 16);
  while (true) {
    if (used == contents.size()) grow(contents.size() * 2);
    ssize_t got = read(file.fd, contents.data() + used, contents.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      return IoError(DiagId::kCannotOpen, "read", path, errno);
    }
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > max_bytes) {
      return MakeError(ExitCode::kIo, DiagId::kInputTooLarge,
                       fmt::format("'{}' holds more than {} bytes", path, max_bytes));
    }
  }
  contents.resize(used);
  return contents;
}

Status WriteFile(const std::string& path, std::string_view contents) {
  if (path == "-") {
    if (int error = WriteAll(STDOUT_FILENO, contents); error != 0) {
      return IoError(DiagId::kCannotWrite, "write", "standard output", error);
    }
    return {};
  }
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return IoError(DiagId::kCannotWrite, "write", path, EISDIR);
    FileDescriptor device{open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (device.fd < 0) return IoError(DiagId::kCannotWrite, "write", path, errno);
    if (int error = WriteAll(device.fd, contents); error != 0) {
      return IoError(DiagId::kCannotWrite, "write", path, error);
    }
    return {};
  }
  std::string temporary = path + ".tmp-XXXXXX";
  FileDescriptor file{mkstemp(temporary.data())};
  if (file.fd < 0) return IoError(DiagId::kCannotWrite, "write", path, errno);
  int error = WriteAll(file.fd, contents);
  if (error == 0 && fsync(file.fd) != 0) error = errno;
  mode_t mask = umask(0);
  umask(mask);
  if (error == 0 &&
      fchmod(file.fd, info.st_mode != 0 ? (info.st_mode & 07777) : (0666 & ~mask)) != 0) {
    error = errno;
  }
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return IoError(DiagId::kCannotWrite, "write", path, error);
  }
  return {};
}

}  // namespace hlokit
