#ifndef HLOKIT_SRC_NEURON_IR_NETLIST_H_
#define HLOKIT_SRC_NEURON_IR_NETLIST_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlokit/io_transposes.h"

namespace hlokit {

/// One subgraph of hlo_netlist.json.
struct Partition {
  std::string id;                   ///< its key when PartMap is an object, else its number
  std::vector<std::string> inputs;  ///< in order; names as the model knows them
  /// (name in the subgraph, name in the model), from entries that give both.
  std::vector<std::pair<std::string, std::string>> aliases;
};

struct Netlist {
  std::vector<Partition> partitions;
  std::set<std::string> edges;  ///< the root IntermediateIOs: no input of the model
};

/// Reads hlo_netlist.json. PartMap may be an array or an object; unknown keys are skipped. A name
/// in Inputs or IntermediateIOs is a string; as an extension also a pair ["local", "model"], or the
/// whole list an object {"local": "model"}. Fails with kCannotParse: N001, N002, N003 (no PartMap,
/// no PartIOs), N004 (wrong types).
Result<Netlist> ParseNetlist(std::string_view text);

/// Which names in a file of a subgraph stand for an input of the model?
enum class AliasRule {
  kNames,      ///< those that the netlist gives two names for
  kPositions,  ///< and input<k> of the n-th file: entry k of Inputs of the n-th partition
};

/// Renames input<k> in the entries of one file (AliasRule::kPositions).
void ApplyPositions(const Partition& partition, std::vector<IoTranspose>& entries);

/// Gives the transpose of a name in a subgraph to the input of the model that it stands for, over
/// any number of steps; the local name goes. Fails with kCheckFailed: N005 (NCC_IIOT001) when that
/// input has another transpose already or the aliases run in a circle, N011 (NCC_IIOT002) when it
/// is an edge.
Status PropagateThroughAliases(const Netlist& netlist, std::vector<IoTranspose>& entries);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_NETLIST_H_
