// Which inputs does a module get? The fixed rule of the reference results, random ones, and ones
// that show a misplaced or mistreated element.
#include "src/eval/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "hlokit/eval.h"
#include "hlokit/float_codec.h"
#include "src/eval/value.h"

namespace hlokit::eval {
namespace {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void StoreBits(uint64_t bits, int bytes, std::byte* out) {
  std::memcpy(out, &bits, static_cast<size_t>(bytes));
}

/// One element from a number: small integers, multiples of 1/256 below 8, multiples of 1/4.
void StoreModerate(ElementType type, uint32_t v, std::byte* out) {
  const ElementTypeInfo& info = Info(type);
  const int bytes = StorageBytes(type);
  switch (info.kind) {
    case ElementKind::kPred:
      return StoreBits(v & 1, 1, out);
    case ElementKind::kSigned: {
      const int64_t value = info.bits >= 8 ? static_cast<int64_t>(v % 201) - 100
                                           : static_cast<int64_t>(v % (1u << info.bits)) -
                                                 (int64_t{1} << (info.bits - 1));
      return StoreBits(static_cast<uint64_t>(value), bytes, out);
    }
    case ElementKind::kUnsigned:
      return StoreBits(info.bits >= 8 ? v % 201 : v % (1u << info.bits), bytes, out);
    case ElementKind::kFloat: {
      double value = info.bits >= 16 ? (static_cast<double>(v % 4001) - 2000) / 256
                                     : (static_cast<double>(v % 33) - 16) / 4;
      if (type == ElementType::kF8e8m0fnu) value = std::ldexp(1.0, static_cast<int>(v % 9) - 4);
      return StoreBits(EncodeFloat(type, value), bytes, out);
    }
    default:
      return;
  }
}

/// A complex element takes its parts from two numbers.
void StoreElement(ElementType type, uint32_t v, uint32_t imaginary, std::byte* out) {
  if (!IsComplex(type)) return StoreModerate(type, v, out);
  const ElementType part = ComponentType(type);
  StoreModerate(part, v, out);
  StoreModerate(part, imaginary, out + StorageBytes(part));
}

uint32_t GoldenNumber(uint64_t element, uint64_t leaf) {
  return static_cast<uint32_t>(element * 2654435761u + leaf * 40503u + 12345u);
}

/// Number n as an element that differs from its neighbours for as long as the type allows: floats
/// take their finite codes in order, upwards from one.
void StoreDistinct(ElementType type, uint64_t n, std::byte* out) {
  if (IsComplex(type)) {
    const ElementType part = ComponentType(type);
    StoreDistinct(part, 2 * n, out);
    return StoreDistinct(part, 2 * n + 1, out + StorageBytes(part));
  }
  const ElementTypeInfo& info = Info(type);
  if (info.kind == ElementKind::kPred) return StoreBits(Mix(n) & 1, 1, out);
  if (info.kind != ElementKind::kFloat) {
    uint64_t value = info.bits == 64 ? n : n & ((uint64_t{1} << info.bits) - 1);
    if (info.kind == ElementKind::kSigned && info.bits < 8 && (value >> (info.bits - 1)) != 0) {
      value |= ~uint64_t{0} << info.bits;
    }
    return StoreBits(value, StorageBytes(type), out);
  }
  if (info.bits >= 32) {
    return StoreBits(EncodeFloat(type, static_cast<double>(n % (1u << 24))), StorageBytes(type),
                     out);
  }
  const uint64_t finite = EncodeFloat(type, LargestFinite(type)) + 1;
  const uint64_t code = (EncodeFloat(type, 1.0) + n) % finite;
  StoreBits(code, StorageBytes(type), out);
}

void StoreExtreme(ElementType type, uint64_t hash, std::byte* out) {
  if (IsComplex(type)) {
    const ElementType part = ComponentType(type);
    StoreExtreme(part, hash, out);
    return StoreExtreme(part, Mix(hash), out + StorageBytes(part));
  }
  const ElementTypeInfo& info = Info(type);
  const int bytes = StorageBytes(type);
  const uint64_t choice = hash % 10;
  if (info.kind == ElementKind::kFloat) {
    const FloatFormat format = FloatFormatOf(type);
    const uint64_t sign = (hash >> 8 & 1) != 0 ? format.sign_bit() : 0;
    const bool has_sign_zero = format.specials != FloatSpecials::kFnuz;
    switch (choice) {
      case 0:
        return StoreBits(has_sign_zero ? sign : 0, bytes, out);
      case 1:
        return StoreBits(1 | sign, bytes, out);
      case 2:
        return StoreBits(EncodeFloat(type, LargestFinite(type)) | sign, bytes, out);
      case 3:
        return StoreBits(EncodeFloat(type, std::numeric_limits<double>::infinity()), bytes, out);
      case 4: {
        const uint64_t range = uint64_t{1} << NanPayloadBits(type);
        const uint64_t quiet = DefaultNanPayload(type);
        const uint64_t payload = range == 1 ? 0 : (hash >> 16) % range | quiet;
        return StoreBits(MakeNan(type, sign != 0, payload), bytes, out);
      }
      default:
        return StoreModerate(type, static_cast<uint32_t>(hash >> 32), out);
    }
  }
  if (info.kind == ElementKind::kPred || choice > 4) {
    return StoreModerate(type, static_cast<uint32_t>(hash >> 32), out);
  }
  const bool is_signed = info.kind == ElementKind::kSigned;
  const uint64_t all = info.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << info.bits) - 1;
  const uint64_t largest = is_signed ? all >> 1 : all;
  const uint64_t one = std::min<uint64_t>(1, largest);  // s1 is 0 or -1
  const uint64_t values[5] = {0, one, largest, is_signed ? ~largest : all - 1,
                              is_signed ? ~uint64_t{0} : all};
  StoreBits(values[choice], bytes, out);
}

}  // namespace

void FillModerate(ElementType type, std::byte* out, int64_t count, uint64_t seed) {
  const int bytes = StorageBytes(type);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t hash = Mix(seed ^ Mix(static_cast<uint64_t>(i)));
    StoreElement(type, static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32),
                 out + i * bytes);
  }
}

}  // namespace hlokit::eval

namespace hlokit {

int64_t HostArray::elements() const { return IsArrayType(type) ? eval::Product(sizes) : 0; }

std::vector<ShapeId> EntryLeaves(const Module& module) {
  std::vector<ShapeId> leaves;
  for (InstId parameter : module.computation(module.entry()).parameters) {
    for (ShapeId leaf : module.shapes().Subshapes(module.shape(parameter))) {
      if (!module.shapes().IsTuple(leaf)) leaves.push_back(leaf);
    }
  }
  return leaves;
}

HostLeaves MakeInputs(const Module& module, InputRule rule, uint64_t seed) {
  HostLeaves out;
  uint64_t leaf_number = 0, distinct = seed % 7;
  for (ShapeId leaf : EntryLeaves(module)) {
    HostArray array{module.shapes().type(leaf), {}, {}};
    const uint64_t q = leaf_number++;
    if (module.shapes().IsArray(leaf)) {
      const std::span<const int64_t> sizes = module.shapes().sizes(leaf);
      array.sizes.assign(sizes.begin(), sizes.end());
      const int64_t count = module.shapes().ElementCount(leaf);
      const int bytes = StorageBytes(array.type);
      array.bytes.resize(static_cast<size_t>(count * bytes));
      for (int64_t i = 0; i < count; ++i) {
        std::byte* element = array.bytes.data() + i * bytes;
        const uint64_t number = static_cast<uint64_t>(i);
        const uint64_t hash =
            eval::Mix(seed * 0x9e37u + eval::Mix(q * 0x10001u + eval::Mix(number)));
        switch (rule) {
          case InputRule::kGolden:
            eval::StoreElement(array.type, eval::GoldenNumber(number, q),
                               eval::GoldenNumber(number + 7, q), element);
            break;
          case InputRule::kRandom:
            eval::StoreElement(array.type, static_cast<uint32_t>(hash),
                               static_cast<uint32_t>(hash >> 32), element);
            break;
          case InputRule::kDistinct:
            eval::StoreDistinct(array.type, distinct++, element);
            break;
          case InputRule::kExtreme:
            eval::StoreExtreme(array.type, hash, element);
            break;
        }
      }
    }
    out.push_back(std::move(array));
  }
  return out;
}

}  // namespace hlokit
