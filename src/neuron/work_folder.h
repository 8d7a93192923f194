#ifndef HLOKIT_SRC_NEURON_WORK_FOLDER_H_
#define HLOKIT_SRC_NEURON_WORK_FOLDER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// A folder that one process at a time may change, and questions about what is in it. No answer
/// ever leads out of it.
class WorkFolder {
 public:
  /// Resolves links, locks the folder until the object dies. Fails with kIo.
  static Result<WorkFolder> Open(const std::string& path);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  std::string At(std::string_view relative) const { return path_ + "/" + std::string(relative); }

  /// sg*/ and nc*/sg*/, sorted, relative. Fails (N024) on a link that leads out of the folder.
  Result<std::vector<std::string>> SubgraphFolders() const;
  /// Names in a sub-folder that end in .npy or .npy.meta, sorted; empty if there is no such folder.
  Result<std::vector<std::string>> Arrays(const std::string& relative) const;
  /// Fails (N024) unless `relative` is below the folder: no "..", and its parent folder resolves
  /// inside.
  Status CheckInside(const std::string& relative) const;

 private:
  WorkFolder() = default;
  std::string path_;
  int fd_ = -1;
};

enum class PathKind { kMissing, kFile, kLink, kFolder, kOther };
PathKind KindOfPath(const std::string& path);  ///< without following a link
std::optional<std::string> LinkTarget(const std::string& path);
/// The path without links; nullopt if it does not exist or the links go in circles.
std::optional<std::string> RealPath(const std::string& path);

/// Fails (N020) on a name that cannot be part of a file name: empty, ".", "..", with "/", control
/// characters, or too long.
Status CheckInputName(const std::string& name);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_WORK_FOLDER_H_
