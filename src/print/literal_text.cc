// How is the value of a constant written?
#include "src/print/literal_text.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "hlokit/float_codec.h"
#include "src/print/value_text.h"

namespace hlokit {
namespace {

/// An array without elements can still ask for very many braces: f32[1000000000,0].
constexpr int64_t kMostEmptyBraces = 1 << 20;

uint64_t LoadBits(const std::byte* from, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytes));  // the host is little-endian
  return bits;
}

/// The `bits` low bits as a signed number.
int64_t SignExtend(uint64_t value, int bits) {
  const int shift = 64 - bits;
  return static_cast<int64_t>(value << shift) >> shift;
}

/// Writes elements of one array; `bytes` walks forward from element to element.
struct ElementWriter {
  ElementType type;
  int stride;
  int width;  // bits of an element, of one component for complex types
  ElementKind kind;
  const std::byte* at;
  TextBuffer* out;

  ElementWriter(ElementType t, const std::byte* bytes, TextBuffer* buffer)
      : type(ComponentType(t)),
        stride(StorageBytes(t)),
        width(Info(type).bits),
        kind(Info(t).kind),
        at(bytes),
        out(buffer) {}

  void Next(bool scalar) {
    switch (kind) {
      case ElementKind::kPred: {
        const bool value = LoadBits(at, 1) != 0;
        out->Append(scalar ? (value ? "true" : "false") : (value ? "1" : "0"));
        break;
      }
      case ElementKind::kSigned:
        out->AppendInteger(SignExtend(LoadBits(at, stride), width));
        break;
      case ElementKind::kUnsigned:
        out->AppendUnsigned(LoadBits(at, stride) & (~uint64_t{0} >> (64 - width)));
        break;
      case ElementKind::kFloat:
        AppendFloat(type, LoadBits(at, stride), out);
        break;
      case ElementKind::kComplex:
        out->Append('(');
        AppendFloat(type, LoadBits(at, stride / 2), out);
        out->Append(", ");
        AppendFloat(type, LoadBits(at + stride / 2, stride / 2), out);
        out->Append(')');
        break;
      case ElementKind::kOther:
        break;
    }
    at += stride;
  }
};

/// The innermost level: {a, b} for rank 1, { a, b } below others unless it has one element.
void AppendRow(int64_t size, bool only_level, ElementWriter* writer) {
  const bool wide = !only_level && size > 1;
  writer->out->Append(wide ? "{ " : "{");
  for (int64_t i = 0; i < size; ++i) {
    if (i != 0) writer->out->Append(", ");
    writer->Next(/*scalar=*/false);
  }
  writer->out->Append(wide ? " }" : "}");
}

bool AsksForTooManyBraces(std::span<const int64_t> sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) return false;
  int64_t braces = 1;
  for (int64_t size : sizes) {
    if (size == 0) return false;
    if (size > kMostEmptyBraces / braces) return true;
    braces *= size;
  }
  return false;
}

void AppendArray(ElementType type, std::span<const int64_t> sizes, const std::byte* bytes,
                 TextBuffer* out) {
  ElementWriter writer(type, bytes, out);
  if (sizes.empty()) return writer.Next(/*scalar=*/true);
  if (sizes.size() == 1) return AppendRow(sizes[0], /*only_level=*/true, &writer);
  if (AsksForTooManyBraces(sizes)) return out->Append("{...}");
  const size_t innermost = sizes.size() - 1;
  const bool comments = sizes.size() > 3;
  std::vector<int64_t> next;  // per open level: the member that comes next
  out->Append("{ ");
  next.push_back(0);
  while (!next.empty()) {
    const size_t level = next.size() - 1;
    const int64_t member = next.back()++;
    if (member == sizes[level]) {
      out->Append(" }");
      next.pop_back();
      continue;
    }
    if (member != 0) out->Append(", ");
    if (level + 1 == innermost) {
      AppendRow(sizes[innermost], /*only_level=*/false, &writer);
      continue;
    }
    out->Append("{ ");
    if (comments) {
      out->Append("/*i");
      out->AppendUnsigned(level);
      out->Append('=');
      out->AppendInteger(member);
      out->Append(sizes[level + 1] == 0 ? "*/" : "*/ ");
    }
    next.push_back(0);
  }
}

void AppendLeaf(const Module& module, LiteralId id, LiteralShapes shapes, TextBuffer* out) {
  const LiteralData& literal = module.literal(id);
  const ShapePool& pool = module.shapes();
  if (shapes == LiteralShapes::kOnLeaves) {
    out->Append(pool.Text(literal.shape));
    out->Append(' ');
  }
  const ElementType type = pool.type(literal.shape);
  // A literal that does not hold what its shape promises is printed as unknown, never read beyond.
  const int64_t count = IsArrayType(type) ? pool.ElementCount(literal.shape) : 0;
  const uint64_t stride = static_cast<uint64_t>(StorageBytes(type));
  const bool known =
      !literal.elided &&
      (count == 0 || static_cast<uint64_t>(count) <= literal.size / std::max<uint64_t>(stride, 1));
  if (!known || !IsArrayType(type)) return out->Append("{...}");
  AppendArray(type, pool.sizes(literal.shape), module.literal_bytes(id).data(), out);
}

}  // namespace

void AppendLiteral(const Module& module, LiteralId id, LiteralShapes shapes, TextBuffer* out) {
  struct Open {
    LiteralId tuple;
    size_t next;
  };
  std::vector<Open> stack;
  LiteralId current = id;
  while (true) {
    const LiteralData& literal = module.literal(current);
    if (module.shapes().IsTuple(literal.shape) && !literal.elided) {
      out->Append("( ");
      stack.push_back({current, 0});
    } else {
      AppendLeaf(module, current, shapes, out);
    }
    // Close what is finished, then go on with the next member.
    while (!stack.empty() &&
           stack.back().next == module.literal(stack.back().tuple).elements.size()) {
      out->Append(" )");
      stack.pop_back();
    }
    if (stack.empty()) return;
    Open& top = stack.back();
    if (top.next != 0) out->Append(", ");
    current = module.literal(top.tuple).elements[top.next++];
  }
}

bool IsSmallConstant(const Module& module, LiteralId id) {
  const ShapeId shape = module.literal(id).shape;
  return module.shapes().IsArray(shape) &&
         module.shapes().ElementCount(shape) <= kSmallConstantElements;
}

bool IsPlainConstant(const Module& module, LiteralId id) {
  const LiteralData& literal = module.literal(id);
  const ElementType type = module.shapes().type(literal.shape);
  if (literal.elided || !IsArrayType(type)) return false;
  if (IsIntegral(type)) return true;
  const std::span<const std::byte> bytes = module.literal_bytes(id);
  const ElementType component = ComponentType(type);
  const size_t stride = static_cast<size_t>(StorageBytes(component));
  // Complex numbers come as pairs: 1 is (1, 0).
  const size_t components = IsComplex(type) ? 2 : 1;
  bool all_zero = true, all_one = true;
  for (size_t at = 0, i = 0; at + stride <= bytes.size(); at += stride, ++i) {
    const uint64_t bits = LoadBits(bytes.data() + at, static_cast<int>(stride));
    const double value =
        type == ElementType::kPred ? static_cast<double>(bits != 0) : DecodeFloat(component, bits);
    all_zero = all_zero && value == 0;
    all_one = all_one && value == (i % components == 0 ? 1 : 0);
  }
  return all_zero || all_one;
}

}  // namespace hlokit
