#ifndef HLOKIT_SRC_NEURON_TRANSACTION_H_
#define HLOKIT_SRC_NEURON_TRANSACTION_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// Changes several files of a folder at once. Whoever opens the paths sees all old or all new
/// contents, whenever the program is killed: every path first becomes a link through `current`, one
/// rename turns `current` from the old to the new objects, then the links are replaced by the
/// objects themselves.
///
///   FOLDER/.hlokit-transaction/{old,new,saved,final}/<i>   the objects of slot i
///   FOLDER/.hlokit-transaction/current -> old | new        the switch
///   FOLDER/.hlokit-transaction/journal                     the path of each slot, one per line
class FolderTransaction {
 public:
  /// Finishes or undoes what an interrupted run left behind. `folder` is an absolute path without
  /// links.
  static Status Recover(const std::string& folder);

  explicit FolderTransaction(std::string folder);
  ~FolderTransaction();
  FolderTransaction(const FolderTransaction&) = delete;
  FolderTransaction& operator=(const FolderTransaction&) = delete;

  /// The path under which the caller creates the new file of `path` (absolute, inside the folder).
  Result<std::string> StageFile(const std::string& path);
  /// `path` becomes a symbolic link with that target.
  Status StageLink(const std::string& path, const std::string& target);
  /// `path` (a file or a link) disappears.
  Status StageRemoval(const std::string& path);
  bool empty() const { return slots_.empty(); }

  /// All or nothing. With `sync` also against loss of power.
  Status Commit(bool sync);

 private:
  Status Start();

  std::string folder_;
  std::string root_;  ///< FOLDER/.hlokit-transaction
  std::vector<std::string> slots_;
  bool started_ = false;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_TRANSACTION_H_
