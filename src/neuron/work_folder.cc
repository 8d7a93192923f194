// What is in the work folder, and is it really inside? Names come from files that nobody checked.

#include "src/neuron/work_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "fmt/format.h"
#include "src/tensor/output_file.h"
#include "src/tensor/printable.h"

namespace hlokit {
namespace {

std::unexpected<Error> Outside(const std::string& path) {
  return MakeError(ExitCode::kIo, DiagId::kOutsideWorkFolder,
                   fmt::format("'{}' leads out of the work folder", path),
                   "nothing is ever written outside: replace the link by a folder");
}

/// The names in a folder, sorted.
Result<std::vector<std::string>> List(const std::string& path) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return internal::FileError(DiagId::kCannotOpen, "list", path, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) names.emplace_back(entry->d_name);
  closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<WorkFolder> WorkFolder::Open(const std::string& path) {
  const std::optional<std::string> real = RealPath(path);
  if (!real) return internal::FileError(DiagId::kCannotOpen, "open", path, errno);
  WorkFolder folder;
  folder.path_ = *real;
  folder.fd_ = open(real->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder.fd_ < 0) return internal::FileError(DiagId::kCannotOpen, "open", path, errno);
  if (flock(folder.fd_, LOCK_EX | LOCK_NB) != 0) {
    return MakeError(ExitCode::kIo, DiagId::kCannotWrite,
                     fmt::format("another process works in '{}'", path), "wait until it is done");
  }
  return folder;
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

WorkFolder::~WorkFolder() {
  if (fd_ >= 0) close(fd_);
}

Status WorkFolder::CheckInside(const std::string& relative) const {
  bool good = !relative.empty() && relative[0] != '/' && relative.find('\n') == std::string::npos &&
              relative.find('\0') == std::string::npos;
  for (size_t begin = 0; begin <= relative.size();) {
    const size_t end = std::min(relative.find('/', begin), relative.size());
    const std::string part = relative.substr(begin, end - begin);
    good = good && !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  if (!good) return Outside(internal::Printable(relative));
  std::string parent = At(relative).substr(0, At(relative).rfind('/'));
  // A folder that is still to be made lies where its parent lies.
  while (parent.size() > path_.size() && KindOfPath(parent) == PathKind::kMissing)
    parent.resize(parent.rfind('/'));
  const std::optional<std::string> real = RealPath(parent);
  if (!real || (*real != path_ && !real->starts_with(path_ + "/"))) return Outside(relative);
  return {};
}

Result<std::vector<std::string>> WorkFolder::SubgraphFolders() const {
  std::vector<std::string> found;
  const auto add = [&](const std::string& relative) -> Status {
    if (!IsFolder(At(relative))) return {};
    TRY(CheckInside(relative + "/x"));
    found.push_back(relative);
    return {};
  };
  ASSIGN_OR_RETURN(const std::vector<std::string> top, List(path_));
  for (const std::string& name : top) {
    if (name.starts_with("sg")) TRY(add(name));
  }
  for (const std::string& name : top) {
    if (!name.starts_with("nc") || !IsFolder(At(name))) continue;
    TRY(CheckInside(name + "/x"));
    ASSIGN_OR_RETURN(const std::vector<std::string> inner, List(At(name)));
    for (const std::string& sub : inner) {
      if (sub.starts_with("sg")) TRY(add(name + "/" + sub));
    }
  }
  return found;
}

Result<std::vector<std::string>> WorkFolder::Arrays(const std::string& relative) const {
  std::vector<std::string> arrays;
  if (!IsFolder(At(relative))) return arrays;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, List(At(relative)));
  for (const std::string& name : names) {
    // As in a shell's *.npy: no hidden files.
    if (name[0] != '.' && (name.ends_with(".npy") || name.ends_with(".npy.meta")))
      arrays.push_back(name);
  }
  return arrays;
}

PathKind KindOfPath(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return PathKind::kMissing;
  if (S_ISLNK(info.st_mode)) return PathKind::kLink;
  if (S_ISREG(info.st_mode)) return PathKind::kFile;
  return S_ISDIR(info.st_mode) ? PathKind::kFolder : PathKind::kOther;
}

std::optional<std::string> LinkTarget(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  if (n < 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(n));
}

std::optional<std::string> RealPath(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return std::nullopt;
  std::string result = real;
  free(real);
  return result;
}

Status CheckInputName(const std::string& name) {
  // value_<name>.npy.meta has to fit the usual limit of 255 bytes.
  const bool control =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 32 || c == 127; });
  if (!name.empty() && name.size() <= 230 && name.find('/') == std::string::npos && name != "." &&
      name != ".." && !control) {
    return {};
  }
  return MakeError(
      ExitCode::kCannotParse, DiagId::kBadInputName,
      fmt::format("the input name '{}' cannot be part of a file name", internal::Printable(name)),
      "names must not be empty, contain '/' or control characters, or be longer than 230 bytes");
}

}  // namespace hlokit
