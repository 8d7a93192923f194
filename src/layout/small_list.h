// How do short lists of dimensions get by without the heap? Up to 16 entries stand in place.
#ifndef HLOKIT_SRC_LAYOUT_SMALL_LIST_H_
#define HLOKIT_SRC_LAYOUT_SMALL_LIST_H_

#include <cstddef>
#include <span>
#include <vector>

namespace hlokit::layout {

/// A list whose largest size is known when it is made; ranks are small, so that the heap is rarely
/// needed.
template <typename T>
class SmallList {
 public:
  explicit SmallList(size_t capacity) {
    if (capacity > kInPlace) {
      heap_.resize(capacity);
      data_ = heap_.data();
    }
  }
  SmallList(size_t size, T value) : SmallList(size) {
    for (size_t i = 0; i < size; ++i) push_back(value);
  }
  SmallList(const SmallList&) = delete;
  SmallList& operator=(const SmallList&) = delete;
  void push_back(T value) { data_[size_++] = value; }
  T& operator[](size_t i) { return data_[i]; }
  T operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  static constexpr size_t kInPlace = 16;
  T in_place_[kInPlace];
  std::vector<T> heap_;
  T* data_ = in_place_;
  size_t size_ = 0;
};

}  // namespace hlokit::layout

#endif  // HLOKIT_SRC_LAYOUT_SMALL_LIST_H_
