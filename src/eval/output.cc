// How is a value written, and where do two values differ?
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/eval.h"
#include "hlokit/float_codec.h"

namespace hlokit {
namespace {

uint64_t LoadBits(const std::byte* at, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(bytes));
  return bits;
}

std::string FloatText(ElementType type, const std::byte* at, bool hexadecimal) {
  const double value = DecodeFloat(type, LoadBits(at, StorageBytes(type)));
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (hexadecimal) {
    char text[64];
    const int length = std::snprintf(text, sizeof(text), "%a", value);
    return std::string(text, static_cast<size_t>(std::max(length, 0)));
  }
  return type == ElementType::kF64 ? fmt::format("{}", value)
                                   : fmt::format("{}", static_cast<float>(value));
}

int64_t SignedValue(ElementType type, const std::byte* at) {
  const int shift = 64 - 8 * StorageBytes(type);
  return static_cast<int64_t>(LoadBits(at, StorageBytes(type)) << shift) >> shift;
}

/// The distance between neighbouring numbers of a type near a magnitude.
double UnitAt(ElementType type, double magnitude) {
  const FloatFormat format = FloatFormatOf(type);
  int exponent = 1 - format.bias;
  if (magnitude > 0) exponent = std::max(std::ilogb(magnitude), exponent);
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

bool Close(ElementType type, double a, double b, double scale, double ulps) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= ulps * UnitAt(type, scale);
}

bool ElementsAgree(const HostArray& left, const HostArray& right, int64_t i, double ulps,
                   bool any_nan) {
  const int bytes = StorageBytes(left.type);
  const std::byte* a = left.bytes.data() + i * bytes;
  const std::byte* b = right.bytes.data() + i * bytes;
  if (std::memcmp(a, b, static_cast<size_t>(bytes)) == 0) return true;
  const ElementKind kind = Info(left.type).kind;
  if (kind != ElementKind::kFloat && kind != ElementKind::kComplex) return false;
  if (ulps == 0 && !any_nan) return false;
  const ElementType part = ComponentType(left.type);
  const int width = StorageBytes(part), parts = bytes / width;
  double x[2] = {}, y[2] = {}, scale = 0;
  for (int k = 0; k < parts; ++k) {
    x[k] = DecodeFloat(part, LoadBits(a + k * width, width));
    y[k] = DecodeFloat(part, LoadBits(b + k * width, width));
    for (double value : {x[k], y[k]}) {
      if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
    }
  }
  for (int k = 0; k < parts; ++k) {
    if (ulps == 0) {
      const bool same = std::memcmp(a + k * width, b + k * width, static_cast<size_t>(width)) == 0;
      if (!same && !(std::isnan(x[k]) && std::isnan(y[k]))) return false;
    } else if (!Close(part, x[k], y[k], scale, ulps))
      return false;
  }
  return true;
}

std::string ShapeText(const HostArray& array) {
  return fmt::format("{}[{}]", Info(array.type).text, fmt::join(array.sizes, ","));
}

}  // namespace

std::string ElementText(const HostArray& array, int64_t index, bool hexadecimal) {
  const int bytes = StorageBytes(array.type);
  const std::byte* at = array.bytes.data() + index * bytes;
  switch (Info(array.type).kind) {
    case ElementKind::kPred:
      return LoadBits(at, 1) != 0 ? "1" : "0";
    case ElementKind::kSigned:
      return std::to_string(SignedValue(array.type, at));
    case ElementKind::kUnsigned:
      return std::to_string(LoadBits(at, bytes));
    case ElementKind::kFloat:
      return FloatText(array.type, at, hexadecimal);
    case ElementKind::kComplex: {
      const ElementType part = ComponentType(array.type);
      return FloatText(part, at, hexadecimal) + "," +
             FloatText(part, at + StorageBytes(part), hexadecimal);
    }
    default:
      return "";
  }
}

std::string GoldenText(const Module& module, ShapeId result, const HostLeaves& leaves) {
  const ShapePool& shapes = module.shapes();
  std::string out;
  const uint32_t nodes = shapes[result].subshape_count;
  size_t next = 0;
  for (uint32_t i = 0; i < nodes; ++i) {
    const ShapeId leaf = shapes.Subshape(result, i);
    if (shapes.IsTuple(leaf) || next == leaves.size()) continue;
    const HostArray& array = leaves[next++];
    out += fmt::format("{{{}}} ", fmt::join(shapes.IndexOf(result, i), ","));
    shapes.AppendText(leaf, false, &out);
    const int64_t count = array.elements();
    for (int64_t k = 0; k < count; ++k) {
      out += ' ';
      out += ElementText(array, k, true);
    }
    out += '\n';
  }
  return out;
}

Difference FirstDifference(const HostLeaves& left, const HostLeaves& right, double ulps,
                           bool any_nan) {
  for (size_t leaf = 0; leaf < std::max(left.size(), right.size()); ++leaf) {
    const int64_t number = static_cast<int64_t>(leaf);
    if (leaf >= left.size() || leaf >= right.size()) return {number, -1, "", ""};
    const HostArray& a = left[leaf];
    const HostArray& b = right[leaf];
    if (a.type != b.type || a.sizes != b.sizes || a.bytes.size() != b.bytes.size()) {
      return {number, -1, ShapeText(a), ShapeText(b)};
    }
    if (a.bytes == b.bytes) continue;
    const int64_t count = a.elements();
    for (int64_t i = 0; i < count; ++i) {
      if (ElementsAgree(a, b, i, ulps, any_nan)) continue;
      return {number, i, ElementText(a, i, false), ElementText(b, i, false)};
    }
  }
  return {};
}

}  // namespace hlokit
