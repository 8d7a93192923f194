// What is the right answer? The plainest possible permutation: one element at a time, in output
// order. Every kernel of every target is tested against this file, so it shares nothing with the
// fast path.

#include <cstring>

#include "hlokit/permute.h"

namespace hlokit {
namespace {

uint8_t GetNibble(const uint8_t* data, int64_t index, bool low_first) {
  const bool low = (index % 2 == 0) == low_first;
  return low ? data[index / 2] & 15 : data[index / 2] >> 4;
}

void SetNibble(uint8_t* data, int64_t index, bool low_first, uint8_t value) {
  const bool low = (index % 2 == 0) == low_first;
  uint8_t& byte = data[index / 2];
  byte = static_cast<uint8_t>(low ? (byte & 0xF0) | value : (byte & 0x0F) | value << 4);
}

}  // namespace

Status PermuteNaive(const PermuteSpec& spec, const void* src, void* dst) {
  ASSIGN_OR_RETURN(const PermutePlan plan, PermutePlan::Make(spec));
  if (plan.bytes() == 0) return {};
  const size_t rank = spec.dims.size();
  std::vector<int64_t> strides = spec.strides;
  if (strides.empty()) {
    strides.assign(rank, 1);
    for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * spec.dims[i];
  }
  int64_t elements = 1;
  for (int64_t dim : spec.dims) elements *= dim;
  const uint8_t* from = static_cast<const uint8_t*>(src);
  uint8_t* to = static_cast<uint8_t*>(dst);
  const bool packed = spec.element_bits == 4;
  const int64_t size = spec.element_bits / 8;
  if (packed) std::memset(dst, 0, static_cast<size_t>((elements + 1) / 2));
  std::vector<int64_t> index(rank, 0);  // of the output
  int64_t offset = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (packed) {
      SetNibble(to, i, spec.low_nibble_first, GetNibble(from, offset, spec.low_nibble_first));
    } else {
      std::memcpy(to + i * size, from + offset * size, static_cast<size_t>(size));
    }
    for (size_t d = rank; d-- > 0;) {
      const size_t axis = static_cast<size_t>(spec.permutation[d]);
      offset += strides[axis];
      if (++index[d] < spec.dims[axis]) break;
      offset -= strides[axis] * spec.dims[axis];
      index[d] = 0;
    }
  }
  return {};
}

}  // namespace hlokit
