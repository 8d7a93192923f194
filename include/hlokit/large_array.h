#ifndef HLOKIT_LARGE_ARRAY_H_
#define HLOKIT_LARGE_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace hlokit {

/// Asks for huge pages where an array is large: page faults and address translation cost more than
/// the work on the elements otherwise. Small arrays come from the ordinary heap.
template <typename T>
struct LargeArrayAllocator {
  using value_type = T;
  LargeArrayAllocator() = default;
  template <typename U>
  LargeArrayAllocator(const LargeArrayAllocator<U>&) {}

  T* allocate(size_t count) {
    constexpr size_t kHugePage = size_t{2} << 20;
    size_t bytes = count * sizeof(T);
    if (bytes < 2 * kHugePage) {
      void* memory = std::malloc(bytes);
      if (memory == nullptr) NoMemory();
      return static_cast<T*>(memory);
    }
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = std::aligned_alloc(kHugePage, bytes);
    if (memory == nullptr) NoMemory();
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  /// As operator new does it: the handler may end the process with a message.
  [[noreturn]] static void NoMemory() {
    if (std::new_handler handler = std::get_new_handler()) handler();
    throw std::bad_alloc();
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  template <typename U>
  bool operator==(const LargeArrayAllocator<U>&) const {
    return true;
  }
};

/// A vector for the flat arrays of a module: one element per instruction, operand, buffer, …
template <typename T>
using LargeArray = std::vector<T, LargeArrayAllocator<T>>;

}  // namespace hlokit

#endif  // HLOKIT_LARGE_ARRAY_H_
