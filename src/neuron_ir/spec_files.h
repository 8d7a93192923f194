#ifndef HLOKIT_SRC_NEURON_IR_SPEC_FILES_H_
#define HLOKIT_SRC_NEURON_IR_SPEC_FILES_H_

#include <string>
#include <vector>

#include "hlokit/io_transposes.h"
#include "src/neuron_ir/netlist.h"

namespace hlokit {

/// Where the transposes of a module come from.
struct SpecFiles {
  std::vector<std::string> files;  ///< one io_transposes.json, or one per subgraph
  std::string netlist;             ///< empty: hlo_netlist.json of this folder if it is there
  AliasRule aliases = AliasRule::kNames;
};

struct CombinedSpecs {
  std::vector<IoTranspose> entries;   ///< under the names of the model
  std::string file;                   ///< which one the places count in; empty with several
  std::vector<std::string> warnings;  ///< as text for the user
};

/// Reads all files, combines them (no input twice, no edges), propagates through the aliases of the
/// netlist. `file` is the file that an error is about. Fails with kIo (I001; NCC_IHNW002) when a
/// file cannot be opened, kUsage (N012, NCC_IHNW001) with several files and no netlist, and as
/// ParseIoTransposes, ParseNetlist, CombineIoTransposes and PropagateThroughAliases do.
Result<CombinedSpecs> LoadSpecs(const SpecFiles& source, std::string* file);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_SPEC_FILES_H_
