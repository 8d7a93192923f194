// Values of constants: hlo-text.md section 5.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "fmt/format.h"
#include "hlokit/float_codec.h"
#include "src/read/parser.h"

namespace hlokit::read {
namespace {

/// The largest literal that is read: hostile shapes must not reserve memory that no text backs.
constexpr int64_t kMaxZeroFilled = int64_t{1} << 28;

template <typename T>
void Store(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof(value));
}

void StoreBits(uint64_t bits, int bytes, std::byte* out) { std::memcpy(out, &bits, bytes); }

}  // namespace

bool Parser::ParseLiteral(ShapeId shape, LiteralId* literal) {
  // Tuples nest: the open ones are on a stack.
  struct Open {
    LiteralId id;
    ShapeId shape;
    uint32_t next = 0;
  };
  std::vector<Open> open;
  ShapePool& shapes = module_.shapes();
  ShapeId current = shape;
  while (true) {
    LiteralId done;
    if (shapes.IsTuple(current)) {
      // Dumps elide whole tuple constants, though XLA cannot read that back.
      if (!options_.strict && open.empty() && Is(Tok::kLeftBrace) &&
          lexer_.At(token_.end).kind == Tok::kDots) {
        Next();
        Next();
        *literal = module_.AddLiteral(
            {.shape = shapes[current].static_bare, .elided = true, .elements = {}});
        return Expect(Tok::kRightBrace, "'}'");
      }
      if (static_cast<int>(open.size()) >= kMaxNesting)
        return FailHere(DiagId::kTooDeep, "tuples nest too deep");
      if (!Expect(Tok::kLeftParen, "'('")) return false;
      LiteralData data;
      data.shape = shapes[current].static_bare;
      open.push_back({module_.AddLiteral(std::move(data)), current});
    } else {
      if (!shapes.IsArray(current)) {
        return FailHere(DiagId::kBadLiteral, "only arrays and tuples have values");
      }
      if (!ParseArrayLiteral(current, &done)) return false;
      if (open.empty()) {
        *literal = done;
        return true;
      }
      module_.literal(open.back().id).elements.push_back(done);
    }
    while (open.back().next == shapes.element_count(open.back().shape)) {
      if (!Expect(Tok::kRightParen, "')'")) return false;
      done = open.back().id;
      open.pop_back();
      if (open.empty()) {
        *literal = done;
        return true;
      }
      module_.literal(open.back().id).elements.push_back(done);
    }
    Open& top = open.back();
    if (top.next != 0 && !Expect(Tok::kComma, "','")) return false;
    current = shapes.element(top.shape, top.next++);
  }
}

bool Parser::ParseLiteralWithShape(LiteralId* literal) {
  // Every leaf repeats its own shape: "s32[2]{0} {1, 2}", "(f32[] 1, s32[] 2)".
  struct Open {
    std::vector<LiteralId> members;
  };
  std::vector<Open> open;
  while (true) {
    LiteralId done;
    if (Is(Tok::kLeftParen)) {
      if (static_cast<int>(open.size()) >= kMaxNesting)
        return FailHere(DiagId::kTooDeep, "tuples nest too deep");
      Next();
      open.emplace_back();
      if (!Is(Tok::kRightParen)) continue;
    } else {
      ShapeId shape;
      if (!ParseArrayShape(&shape)) return false;
      shape = FillLayouts(shape);
      if (!module_.shapes().IsArray(shape))
        return FailHere(DiagId::kBadLiteral, "only arrays have values");
      if (!ParseArrayLiteral(shape, &done)) return false;
      module_.literal(done).shape = shape;
      if (open.empty()) {
        *literal = done;
        return true;
      }
      open.back().members.push_back(done);
    }
    while (true) {
      if (Eat(Tok::kComma)) break;
      if (!Expect(Tok::kRightParen, "',' or ')'")) return false;
      std::vector<ShapeId> members;
      for (LiteralId id : open.back().members) members.push_back(module_.literal(id).shape);
      LiteralData data;
      data.shape = module_.shapes().Tuple(members);
      data.elements = std::move(open.back().members);
      done = module_.AddLiteral(std::move(data));
      open.pop_back();
      if (open.empty()) {
        *literal = done;
        return true;
      }
      open.back().members.push_back(done);
    }
  }
}

bool Parser::ParseArrayLiteral(ShapeId shape, LiteralId* literal) {
  ShapePool& shapes = module_.shapes();
  ElementType type = shapes.type(shape);
  std::span<const int64_t> sizes = shapes.sizes(shape);
  size_t rank = sizes.size();
  for (int64_t size : sizes) {
    if (size == kUnboundedSize)
      return FailHere(DiagId::kBadLiteral, "a value needs known dimensions");
  }
  LiteralData data;
  data.shape = shapes[shape].static_bare;
  *literal = module_.AddLiteral(std::move(data));
  int bytes = StorageBytes(type);
  int64_t elements = shapes.ElementCount(shape);
  std::vector<std::byte> values;
  std::byte element[16] = {};
  if (!Is(Tok::kLeftBrace)) {
    // A scalar; for an array the reference reads it as the first element, the rest is zero.
    uint32_t at = token_.begin;
    if (!ParseScalar(type, element)) return false;
    if (elements == 0) return true;
    if (elements > kMaxZeroFilled)
      return Fail(DiagId::kBadLiteral, at, "one number for an array of this size");
    std::span<std::byte> out =
        module_.AllocateLiteralBytes(*literal, static_cast<uint64_t>(elements * bytes));
    std::copy(element, element + bytes, out.begin());
    return true;
  }
  if (rank == 0)
    return FailHere(DiagId::kBadLiteral, "braces nest deeper than the type has dimensions");
  std::vector<int64_t> counts;  // of the open levels
  bool elided = false;
  while (true) {
    switch (token_.kind) {
      case Tok::kLeftBrace:
        if (counts.size() == rank) {
          return FailHere(DiagId::kBadLiteral, "braces nest deeper than the type has dimensions");
        }
        if (!counts.empty() && ++counts.back() > sizes[counts.size() - 1]) {
          return FailHere(DiagId::kBadLiteral,
                          fmt::format("dimension {} holds {} rows, this is one more",
                                      counts.size() - 1, sizes[counts.size() - 1]));
        }
        counts.push_back(0);
        Next();
        continue;
      case Tok::kRightBrace: {
        size_t level = counts.size() - 1;
        if (!elided && counts.back() != sizes[level]) {
          return FailHere(DiagId::kBadLiteral,
                          fmt::format("dimension {} needs {} entries, here are {}", level,
                                      sizes[level], counts.back()));
        }
        counts.pop_back();
        Next();
        if (!counts.empty()) continue;
        break;
      }
      case Tok::kComma:
        Next();
        continue;
      case Tok::kDots:
        if (counts.size() != 1) {
          return FailHere(DiagId::kBadLiteral,
                          "'...' stands for a whole value: only inside the outer braces");
        }
        elided = true;
        Next();
        continue;
      case Tok::kEnd:
        return FailExpected("'}'");
      default:
        if (counts.size() != rank) {
          return FailHere(DiagId::kBadLiteral, "a number stands where a row in braces is due");
        }
        if (++counts.back() > sizes[rank - 1]) {
          return FailHere(DiagId::kBadLiteral,
                          fmt::format("dimension {} holds {} elements, this is one more", rank - 1,
                                      sizes[rank - 1]));
        }
        if (!ParseScalar(type, element)) return false;
        values.insert(values.end(), element, element + bytes);
        continue;
    }
    break;
  }
  if (elided) {
    module_.literal(*literal).elided = true;
    return true;
  }
  std::span<std::byte> out = module_.AllocateLiteralBytes(*literal, values.size());
  std::copy(values.begin(), values.end(), out.begin());
  return true;
}

bool Parser::ParseScalar(ElementType type, std::byte* out) {
  if (IsComplex(type)) return ParseComplex(type, out);
  return StoreNumber(type, out);
}

bool Parser::ParseComplex(ElementType type, std::byte* out) {
  if (!Is(Tok::kLeftParen)) return FailExpected("a complex number such as (1, 2)");
  Next();
  ElementType part = ComponentType(type);
  int bytes = StorageBytes(part);
  if (!StoreNumber(part, out) || !Expect(Tok::kComma, "','") || !StoreNumber(part, out + bytes)) {
    return false;
  }
  // As the reference reads it: a NaN real part takes the imaginary part along (section 15).
  uint64_t real = 0;
  std::memcpy(&real, out, bytes);
  if (IsNan(part, real)) std::memcpy(out + bytes, out, bytes);
  return Expect(Tok::kRightParen, "')'");
}

bool Parser::StoreNumber(ElementType type, std::byte* out) {
  const ElementTypeInfo& info = Info(type);
  bool truth = IsKeyword(Keyword::kTrue) || IsKeyword(Keyword::kFalse);
  if (info.kind == ElementKind::kPred) {
    if (!truth && !Is(Tok::kInteger)) return FailExpected("true, false or an integer");
    out[0] = static_cast<std::byte>(truth ? IsKeyword(Keyword::kTrue) : token_.integer != 0);
    Next();
    return true;
  }
  if (IsIntegral(type)) {
    if (!Is(Tok::kInteger)) return FailExpected("an integer");
    int64_t value = token_.integer;
    if (info.bits < 64) {
      bool is_signed = info.kind == ElementKind::kSigned;
      int64_t low = is_signed ? -(int64_t{1} << (info.bits - 1)) : 0;
      int64_t high =
          is_signed ? (int64_t{1} << (info.bits - 1)) - 1 : (int64_t{1} << info.bits) - 1;
      if (value < low || value > high || token_.has_escapes) {
        return FailHere(DiagId::kBadLiteral,
                        fmt::format("'{}' is outside the range of {}", TokenText(), info.text));
      }
    }
    StoreBits(static_cast<uint64_t>(value), StorageBytes(type), out);
    Next();
    return true;
  }
  // Floating types.
  uint32_t at = token_.begin;
  bool written_payload = Is(Tok::kDecimal) && std::isnan(token_.decimal) && token_.has_escapes;
  double value;
  bool integer = Is(Tok::kInteger);
  if (!ParseNumber(&value)) return false;
  uint64_t bits;
  if (std::isnan(value)) {
    int payload_bits = NanPayloadBits(type);
    bool negative = std::signbit(value);
    if (written_payload) {
      uint64_t payload = std::bit_cast<uint64_t>(value) & ((uint64_t{1} << 52) - 1);
      if (payload_bits == 0) {
        return Fail(DiagId::kBadLiteral, at,
                    fmt::format("{} has one NaN only: write nan", info.text));
      }
      if (payload >= (uint64_t{1} << payload_bits)) {
        return Fail(DiagId::kBadLiteral, at,
                    fmt::format("the NaN payload does not fit {}: at most {:#x}", info.text,
                                (uint64_t{1} << payload_bits) - 1));
      }
      bits = MakeNan(type, negative, payload);
    } else {
      bits = DefaultNan(type, negative);
    }
  } else {
    if (integer && value == 0) value = 0;
    bool infinite_text = std::isinf(value);
    Token previous = lexer_.At(at);
    bool named_infinity = previous.kind == Tok::kKeyword || previous.kind == Tok::kMinusInf;
    if (type == ElementType::kF64) {
      bits = std::bit_cast<uint64_t>(value);
    } else if (type == ElementType::kF32) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    } else {
      bits = EncodeFloat(type, value);
    }
    if (!named_infinity) {
      double stored = type == ElementType::kF64 ? value : DecodeFloat(type, bits);
      double limit = LargestFinite(type);
      if (infinite_text || (!std::isfinite(stored) && !(std::abs(value) <= limit))) {
        return Fail(DiagId::kBadLiteral, at,
                    fmt::format("'{}' is outside the range of {}",
                                lexer_.Slice(previous.begin, previous.end), info.text));
      }
    }
  }
  StoreBits(bits, StorageBytes(type), out);
  return true;
}

}  // namespace hlokit::read
