// Where do the entries of the worklist stand? A double-ended queue of numbers in one array.
#ifndef HLOKIT_SRC_LAYOUT_RING_H_
#define HLOKIT_SRC_LAYOUT_RING_H_

#include <cstdint>
#include <vector>

namespace hlokit::layout {

class Ring {
 public:
  bool empty() const { return count_ == 0; }
  uint32_t size() const { return count_; }
  void Clear() { count_ = 0; }
  void PushFront(uint32_t value) {
    if (count_ == slots_.size()) Grow();
    front_ = (front_ - 1) & mask_;
    slots_[front_] = value;
    ++count_;
  }
  void PushBack(uint32_t value) {
    if (count_ == slots_.size()) Grow();
    slots_[(front_ + count_) & mask_] = value;
    ++count_;
  }
  uint32_t PopFront() {
    uint32_t value = slots_[front_];
    front_ = (front_ + 1) & mask_;
    --count_;
    return value;
  }

 private:
  void Grow() {
    std::vector<uint32_t> larger(slots_.empty() ? 64 : slots_.size() * 2);
    for (uint32_t i = 0; i < count_; ++i) larger[i] = slots_[(front_ + i) & mask_];
    slots_ = std::move(larger);
    mask_ = static_cast<uint32_t>(slots_.size()) - 1;
    front_ = 0;
  }
  std::vector<uint32_t> slots_;
  uint32_t mask_ = 0;
  uint32_t front_ = 0;
  uint32_t count_ = 0;
};

}  // namespace hlokit::layout

#endif  // HLOKIT_SRC_LAYOUT_RING_H_
