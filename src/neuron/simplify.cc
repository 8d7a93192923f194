// Which dimensions of an IO transpose may be folded? Two neighbours of `reshape` are one dimension
// if they stay neighbours in `transpose` and no border of the original shape lies between them.
//
// A border is named by the number of elements behind it. Dimensions of size 1 make several borders
// with one name; as many of them are kept as the original shape has there, and the others may be
// folded away.

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "hlokit/io_transposes.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

/// The number of elements behind each dimension but the last.
std::vector<int64_t> Borders(std::span<const int64_t> shape) {
  std::vector<int64_t> borders(shape.empty() ? 0 : shape.size() - 1);
  int64_t behind = 1;
  for (size_t i = borders.size(); i-- > 0;) borders[i] = behind *= shape[i + 1];
  return borders;
}

/// The product, or -1 if it does not fit. Zero wins over overflow.
int64_t Product(std::span<const int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t product = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(product, dim, &product)) return -1;
  }
  return product;
}

/// merge[i]: dimensions i and i+1 become one.
IoTranspose Fold(const IoTranspose& entry, const std::vector<bool>& merge) {
  const size_t rank = entry.reshape.size();
  std::vector<int64_t> group(rank, 0);
  IoTranspose folded{.input_name = entry.input_name, .location = entry.location};
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && merge[i - 1]) {
      folded.reshape.back() *= entry.reshape[i];
    } else {
      folded.reshape.push_back(entry.reshape[i]);
    }
    group[i] = static_cast<int64_t>(folded.reshape.size()) - 1;
  }
  for (int64_t axis : entry.transpose) {
    const int64_t g = group[static_cast<size_t>(axis)];
    if (folded.transpose.empty() || folded.transpose.back() != g) folded.transpose.push_back(g);
  }
  return folded;
}

}  // namespace

Result<IoTranspose> SimplifyIoTranspose(const IoTranspose& entry,
                                        std::span<const int64_t> original_shape) {
  const int64_t elements = Product(original_shape);
  const int64_t reshaped = Product(entry.reshape);
  if (elements != reshaped || elements < 0) {
    return MakeError(
        ExitCode::kCheckFailed, DiagId::kIoReshapeMismatch,
        fmt::format("[NCC_IHNW003] Reshape size mismatch for input: {}", entry.input_name),
        fmt::format("reshape {} has {} elements, the input of shape {} has {}",
                    JsonList(entry.reshape), reshaped,
                    JsonList({original_shape.begin(), original_shape.end()}), elements));
  }
  const size_t rank = entry.reshape.size();
  if (elements == 0 || rank < 2) return entry;

  std::vector<size_t> position(rank);  // of an axis in `transpose`
  for (size_t i = 0; i < rank; ++i) position[static_cast<size_t>(entry.transpose[i])] = i;
  std::vector<bool> neighbours(rank - 1);
  for (size_t i = 0; i + 1 < rank; ++i) neighbours[i] = position[i + 1] == position[i] + 1;

  const std::vector<int64_t> borders = Borders(entry.reshape);
  std::map<int64_t, int64_t> spare;  // how many borders of that name may go
  for (int64_t border : borders) ++spare[border];
  for (int64_t border : Borders(original_shape)) {
    const auto found = spare.find(border);
    if (found != spare.end()) {
      found->second = std::max<int64_t>(0, found->second - 1);
    } else if (border != 1 &&
               border != elements) {  // those are made by dimensions of size 1 at either end
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kIllegalIoReshape,
          fmt::format("Illegal static io reshape from {} to {}", JsonList(entry.reshape),
                      JsonList(Fold(entry, neighbours).reshape)),
          fmt::format("input {} has the shape {}: a factor of the reshape crosses the border that "
                      "has {} elements "
                      "behind it",
                      entry.input_name, JsonList({original_shape.begin(), original_shape.end()}),
                      border));
    }
  }
  std::vector<bool> merge(rank - 1, false);
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (!neighbours[i] || spare[borders[i]] <= 0) continue;
    merge[i] = true;
    --spare[borders[i]];
  }
  return Fold(entry, merge);
}

}  // namespace hlokit
