// How is a value held while a module runs? Arrays as bytes in the physical order of their layout.
#ifndef HLOKIT_SRC_EVAL_VALUE_H_
#define HLOKIT_SRC_EVAL_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hlokit/module.h"

namespace hlokit::eval {

/// Counts the bytes of all values that live.
struct MemoryMeter {
  uint64_t live = 0;
  uint64_t limit = 0;
};

/// Memory of one array.
class Storage {
 public:
  Storage(std::shared_ptr<MemoryMeter> meter, uint64_t size)
      : meter_(std::move(meter)), bytes_(size) {
    meter_->live += size;
  }
  ~Storage() { meter_->live -= bytes_.size(); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::shared_ptr<MemoryMeter> meter_;
  std::vector<std::byte> bytes_;
};

/// An array (bytes in the layout of `shape`), a tuple, or a token (neither). Copies share.
struct Value {
  ShapeId shape;
  std::shared_ptr<Storage> bytes;
  std::shared_ptr<const std::vector<Value>> elements;
};

/// Elements in row-major order, StorageBytes(type) each.
struct ArrayView {
  ElementType type = ElementType::kInvalid;
  std::span<const int64_t> sizes;
  std::byte* data = nullptr;
  int64_t count = 0;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int width() const { return StorageBytes(type); }
};

/// Distances between neighbours in a row-major array, in elements.
inline std::vector<int64_t> RowMajorStrides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t next = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

/// Steps a row-major multi-index; false after the last one. An empty index has one position.
inline bool NextIndex(std::span<const int64_t> sizes, std::span<int64_t> index) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

inline int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_VALUE_H_
