#ifndef HLOKIT_SRC_NEURON_MARKER_H_
#define HLOKIT_SRC_NEURON_MARKER_H_

#include <optional>
#include <string>
#include <vector>

#include "hlokit/io_transposes.h"

namespace hlokit {

/// What was done to one input.
struct AppliedTranspose {
  IoTranspose spec;  ///< simplified
  std::vector<int64_t> original_shape;
  std::string before;  ///< checksum of the elements before …
  std::string after;   ///< … and after
};

/// A link that was made in a subgraph folder or in transposed_inputs; paths are relative to the
/// work folder.
struct MadeLink {
  std::string path;
  std::optional<std::string> previous;  ///< target of the link that stood there
};

/// The file .static-io-transpose.json in the work folder: what the last run did, and how to undo
/// it.
struct Marker {
  std::string original_json;  ///< io_transposes.json as it was
  bool made_folder = false;   ///< transposed_inputs did not exist
  std::vector<AppliedTranspose> inputs;
  std::vector<std::string> files;
  std::vector<MadeLink> links;
};

inline constexpr std::string_view kMarkerName = ".static-io-transpose.json";

std::string WriteMarker(const Marker& marker);
/// Fails with kCannotParse (N027).
Result<Marker> ParseMarker(std::string_view text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_MARKER_H_
