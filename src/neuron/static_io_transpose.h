#ifndef HLOKIT_SRC_NEURON_STATIC_IO_TRANSPOSE_H_
#define HLOKIT_SRC_NEURON_STATIC_IO_TRANSPOSE_H_

#include <string>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

struct StaticIoTransposeOptions {
  std::string folder = ".";  ///< the work folder
  bool verify = false;       ///< also write transposed_inputs/value_<name>.npy
  bool invert = false;       ///< undo the recorded run
  bool force = false;        ///< replace files that stand where a link has to go
  bool sync = true;          ///< flush to disk before and after the switch
};

struct StaticIoTransposeReport {
  bool changed = false;
  std::string summary;  ///< one sentence for the user
  std::vector<Diagnostic> warnings;
};

/// The whole job in a work folder: simplifies io_transposes.json, transposes the inputs in
/// inp-000.p, fills transposed_inputs and links its arrays into every sg*/ and nc*/sg*/ folder. All
/// or nothing; a second run changes nothing; never writes outside the folder. Nothing to do is no
/// error.
Result<StaticIoTransposeReport> RunStaticIoTranspose(const StaticIoTransposeOptions& options);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_STATIC_IO_TRANSPOSE_H_
