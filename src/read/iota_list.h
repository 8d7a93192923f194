// Lists of devices that are written as a transposed iota: [2,4]<=[4,2]T(1,0). hlo-text.md
// section 8.11.
#ifndef HLOKIT_SRC_READ_IOTA_LIST_H_
#define HLOKIT_SRC_READ_IOTA_LIST_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hlokit::read {

/// Devices that are expanded to a list at most.
inline constexpr int64_t kMaxDevices = int64_t{1} << 22;

inline int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (int64_t v : values) {
    if (v < 0 || __builtin_mul_overflow(product, v, &product)) return -1;
  }
  return product;
}

/// iota over `dims`, transposed by `perm`, flattened.
struct Iota {
  std::vector<int64_t> dims;
  std::vector<int64_t> perm;

  /// Drops dimensions of size 1 and merges dimensions that stay adjacent and in order.
  void Canonicalise() {
    std::vector<int64_t> number(dims.size(), -1);
    std::vector<int64_t> kept;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 1) continue;
      number[i] = static_cast<int64_t>(kept.size());
      kept.push_back(dims[i]);
    }
    std::vector<int64_t> order;
    for (int64_t p : perm) {
      if (number[p] >= 0) order.push_back(number[p]);
    }
    // `starts[d]`: dimension d does not continue the run of d - 1.
    std::vector<bool> starts(kept.size(), true);
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i] == order[i - 1] + 1) starts[order[i]] = false;
    }
    std::vector<int64_t> merged;
    std::vector<int64_t> merged_number(kept.size());
    for (size_t d = 0; d < kept.size(); ++d) {
      if (starts[d]) {
        merged.push_back(kept[d]);
      } else {
        merged.back() *= kept[d];
      }
      merged_number[d] = static_cast<int64_t>(merged.size()) - 1;
    }
    std::vector<int64_t> merged_order;
    for (int64_t d : order) {
      if (starts[d]) merged_order.push_back(merged_number[d]);
    }
    dims = std::move(merged);
    perm = std::move(merged_order);
    if (dims.empty()) {
      dims = {1};
      perm = {0};
    }
  }

  std::vector<int64_t> Expand() const {
    std::vector<int64_t> strides(dims.size(), 1);
    for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
    std::vector<int64_t> out;
    std::vector<int64_t> index(perm.size());
    int64_t total = Product(dims);
    for (int64_t n = 0; n < total; ++n) {
      int64_t device = 0;
      for (size_t i = 0; i < perm.size(); ++i) device += index[i] * strides[perm[i]];
      out.push_back(device);
      for (size_t i = perm.size(); i-- > 0;) {
        if (++index[i] < dims[perm[i]]) break;
        index[i] = 0;
      }
    }
    return out;
  }

  std::string Text() const {
    std::string out = fmt::format("<=[{}]", fmt::join(dims, ","));
    if (dims.size() > 1) out += fmt::format("T({})", fmt::join(perm, ","));
    return out;
  }
};

}  // namespace hlokit::read

#endif  // HLOKIT_SRC_READ_IOTA_LIST_H_
