// How do several files change at once? See the class comment. Every step is one operation of the
// file system that either happens or does not; Recover() reads off the switch which way to go.

#include "src/neuron/transaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "src/tensor/fs_step.h"
#include "src/tensor/output_file.h"

namespace hlokit {
namespace {

using internal::FileError;
using internal::FsStep;

constexpr std::string_view kFolderName = "/.hlokit-transaction";
constexpr std::string_view kDoneName = "/.hlokit-transaction-done";

Status Done(std::string_view operation, const std::string& path, int result) {
  if (result == 0) return {};
  return FileError(DiagId::kCannotWrite, operation, path, errno);
}

/// Asks the test hook, then runs one call.
template <typename Call>
Status Do(std::string_view operation, const std::string& path, const Call& call) {
  if (const int error = FsStep(operation); error != 0)
    return FileError(DiagId::kCannotWrite, operation, path, error);
  return Done(operation, path, call());
}

Status MakeFolder(const std::string& path) {
  return Do("mkdir", path, [&] { return mkdir(path.c_str(), 0777); });
}
Status Link(const std::string& target, const std::string& path) {
  return Do("symlink", path, [&] { return symlink(target.c_str(), path.c_str()); });
}
Status Rename(const std::string& from, const std::string& to) {
  return Do("rename", to, [&] { return rename(from.c_str(), to.c_str()); });
}
Status Remove(const std::string& path) {
  return Do("remove", path, [&] { return unlink(path.c_str()); });
}

std::optional<struct stat> Look(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

std::optional<std::string> ReadLink(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t n = readlink(path.c_str(), target.data(), target.size());
  if (n < 0 || static_cast<size_t>(n) == target.size()) return std::nullopt;
  target.resize(static_cast<size_t>(n));
  return target;
}

std::string Slot(const std::string& root, std::string_view kind, size_t i) {
  return fmt::format("{}/{}/{}", root, kind, i);
}

/// True if `path` is the link through the switch that Commit put there; the folder may have been
/// moved since.
bool IsRouted(const std::string& path, size_t i) {
  const std::optional<std::string> target = ReadLink(path);
  return target && target->ends_with(fmt::format("{}/current/{}", kFolderName, i));
}

/// Turns `path` into the link through the switch; the old object stays reachable through old/<i>.
Status Route(const std::string& root, const std::string& path, size_t i) {
  const std::string routed = Slot(root, "current", i);
  const std::string old = Slot(root, "old", i);
  const std::optional<struct stat> info = Look(path);
  if (!info) return Link(routed, path);
  if (S_ISLNK(info->st_mode)) {
    const std::optional<std::string> target = ReadLink(path);
    if (!target) return FileError(DiagId::kCannotOpen, "read the link", path, errno);
    TRY(Link(*target, Slot(root, "saved", i)));
    TRY(Link(target->starts_with('/') ? *target : path.substr(0, path.rfind('/') + 1) + *target,
             old));
  } else if (S_ISREG(info->st_mode)) {
    TRY(Do("link", path, [&] { return link(path.c_str(), old.c_str()); }));
  } else {
    return MakeError(ExitCode::kIo, DiagId::kInTheWay,
                     fmt::format("'{}' is neither a file nor a link", path), "move it away");
  }
  TRY(Link(routed, Slot(root, "route", i)));
  return Rename(Slot(root, "route", i), path);
}

/// The switch points to the new objects: puts the object itself in the place of the link.
Status Finish(const std::string& root, const std::string& path, size_t i) {
  if (!IsRouted(path, i)) return {};
  if (Look(Slot(root, "final", i))) return Rename(Slot(root, "final", i), path);
  if (Look(Slot(root, "new", i))) return Rename(Slot(root, "new", i), path);
  return Remove(path);
}

/// The switch points to the old objects: puts them back.
Status Undo(const std::string& root, const std::string& path, size_t i) {
  if (!IsRouted(path, i)) return {};
  if (Look(Slot(root, "saved", i))) return Rename(Slot(root, "saved", i), path);
  if (Look(Slot(root, "old", i))) return Rename(Slot(root, "old", i), path);
  return Remove(path);
}

/// Throws the objects away. The rename makes it one step: nobody mistakes a half-deleted folder for
/// a journal.
Status Discard(const std::string& folder) {
  const std::string root = folder + std::string(kFolderName);
  const std::string done = folder + std::string(kDoneName);
  std::error_code error;
  if (const int wanted = FsStep("remove"); wanted != 0)
    return FileError(DiagId::kCannotWrite, "remove", done, wanted);
  std::filesystem::remove_all(done, error);
  if (!error && Look(root)) TRY(Rename(root, done));
  if (!error) std::filesystem::remove_all(done, error);
  if (error) return FileError(DiagId::kCannotWrite, "remove", done, error.value());
  return {};
}

Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(DiagId::kCannotWrite, "open", path, errno);
  const int result = fsync(fd);
  close(fd);
  return Done("flush", path, result);
}

Status SyncAll(const std::string& folder, const std::string& root,
               std::span<const std::string> paths) {
  for (std::string_view kind : {"/old", "/new", "/saved", "/final", ""})
    TRY(SyncFolder(root + std::string(kind)));
  for (const std::string& path : paths) TRY(SyncFolder(path.substr(0, path.rfind('/'))));
  return SyncFolder(folder);
}

}  // namespace

Status FolderTransaction::Recover(const std::string& folder) {
  const std::string root = folder + std::string(kFolderName);
  if (!Look(root)) return Look(folder + std::string(kDoneName)) ? Discard(folder) : Status();
  // Without a journal no path was touched yet.
  if (Look(root + "/journal")) {
    ASSIGN_OR_RETURN(const std::string journal, ReadFile(root + "/journal"));
    const bool switched = ReadLink(root + "/current") == "new";
    size_t i = 0;
    for (size_t begin = 0, end; (end = journal.find('\n', begin)) != std::string::npos;
         begin = end + 1, ++i) {
      const std::string path = folder + "/" + journal.substr(begin, end - begin);
      TRY(switched ? Finish(root, path, i) : Undo(root, path, i));
    }
  }
  return Discard(folder);
}

FolderTransaction::FolderTransaction(std::string folder)
    : folder_(std::move(folder)), root_(folder_ + std::string(kFolderName)) {}

FolderTransaction::~FolderTransaction() {
  if (started_) static_cast<void>(Recover(folder_));
}

Status FolderTransaction::Start() {
  if (started_) return {};
  TRY(MakeFolder(root_));
  started_ = true;
  for (std::string_view kind : {"/old", "/new", "/saved", "/final", "/route"})
    TRY(MakeFolder(root_ + std::string(kind)));
  return {};
}

Result<std::string> FolderTransaction::StageFile(const std::string& path) {
  TRY(Start());
  slots_.push_back(path);
  return Slot(root_, "new", slots_.size() - 1);
}

Status FolderTransaction::StageLink(const std::string& path, const std::string& target) {
  TRY(Start());
  slots_.push_back(path);
  // Seen through the switch, a relative target would start elsewhere.
  const std::string resolved =
      target.starts_with('/') ? target : path.substr(0, path.rfind('/') + 1) + target;
  TRY(Link(resolved, Slot(root_, "new", slots_.size() - 1)));
  return Link(target, Slot(root_, "final", slots_.size() - 1));
}

Status FolderTransaction::StageRemoval(const std::string& path) {
  TRY(Start());
  slots_.push_back(path);
  return {};
}

Status FolderTransaction::Commit(bool sync) {
  if (slots_.empty()) return {};
  std::string journal;
  for (const std::string& path : slots_) {
    if (path.find('\n') != std::string::npos || !path.starts_with(folder_ + "/")) {
      return MakeError(ExitCode::kInternal, DiagId::kOutsideWorkFolder,
                       fmt::format("'{}' is not inside the work folder", path));
    }
    journal += path.substr(folder_.size() + 1) + "\n";
  }
  TRY(Link("old", root_ + "/current"));
  ASSIGN_OR_RETURN(internal::OutputFile file, internal::OutputFile::Create(root_ + "/journal"));
  TRY(file.Write(journal));
  TRY(file.Commit(sync));
  if (sync) TRY(SyncAll(folder_, root_, {}));
  // Errors up to the switch are undone by the destructor.
  for (size_t i = 0; i < slots_.size(); ++i) TRY(Route(root_, slots_[i], i));
  if (sync) TRY(SyncAll(folder_, root_, slots_));
  TRY(Link("new", root_ + "/switch"));
  TRY(Rename(root_ + "/switch", root_ + "/current"));
  // From here on the new state holds.
  for (size_t i = 0; i < slots_.size(); ++i) TRY(Finish(root_, slots_[i], i));
  if (sync) TRY(SyncAll(folder_, root_, slots_));
  started_ = false;
  return Discard(folder_);
}

}  // namespace hlokit
