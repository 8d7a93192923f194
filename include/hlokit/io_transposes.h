#ifndef HLOKIT_IO_TRANSPOSES_H_
#define HLOKIT_IO_TRANSPOSES_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// One entry of io_transposes.json: the input is reshaped (row-major), then its axes are permuted.
struct IoTranspose {
  std::string input_name;
  std::vector<int64_t> reshape;
  std::vector<int64_t> transpose;
  SourceLocation location;  ///< of the entry in its file
};

struct IoTransposes {
  std::vector<IoTranspose> entries;  ///< in file order
  std::vector<Diagnostic> warnings;  ///< unknown keys (N006)
};

/// Reads an array of {input_name, reshape, transpose}. The messages for missing keys and wrong
/// types are those of the Neuron tools ("reshape not found in json", "type must be number, but is
/// string"), with line and column. Fails with kCannotParse: N001 … N005, N007.
Result<IoTransposes> ParseIoTransposes(std::string_view text);

/// The text that Python's json.dump would write, one entry per line.
std::string WriteIoTransposes(std::span<const IoTranspose> entries);

/// Adds the entries of one subgraph to those of others. Fails with kCheckFailed: N005 (NCC_IIOT001)
/// on an input that is there already, N011 (NCC_IIOT002) on a name in `forbidden` (edges between
/// subgraphs).
Status CombineIoTransposes(std::vector<IoTranspose>& all, std::span<const IoTranspose> local,
                           const std::set<std::string>& forbidden);

/// Folds neighbours of `reshape` that stay neighbours, in order, in `transpose` and that belong to
/// one dimension of `original_shape`. The result moves every element to the same place, is never
/// longer, and folding it again changes nothing. Fails with kCheckFailed: N008 (NCC_IHNW003) if the
/// element counts differ, N009 if a factor of `reshape` crosses a border between two original
/// dimensions ("Illegal static io reshape from … to …").
Result<IoTranspose> SimplifyIoTranspose(const IoTranspose& entry,
                                        std::span<const int64_t> original_shape);

/// The number of dimensions that the consumers keep inline; more is worth a warning (N010).
inline constexpr size_t kComfortableIoDimensions = 6;

}  // namespace hlokit

#endif  // HLOKIT_IO_TRANSPOSES_H_
