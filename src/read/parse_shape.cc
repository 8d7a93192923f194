// Shapes and layouts: hlo-text.md section 4.
#include <limits>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {
namespace {

/// One past the end of an array shape in its usual form, type[1,2]{1,0}, that begins at `begin`; 0
/// when the text here looks otherwise.
uint32_t UsualShapeEnd(std::string_view text, uint32_t type_end) {
  const char* p = text.data() + type_end;
  if (*p != '[') return 0;
  ++p;
  while ((*p >= '0' && *p <= '9') || *p == ',' || *p == '<' || *p == '=') ++p;
  if (*p != ']') return 0;
  ++p;
  if (*p != '{') {
    // A layout may still follow behind blanks or a comment.
    const char* next = p;
    while (*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r') ++next;
    return *next == '{' || *next == '/' ? 0 : static_cast<uint32_t>(p - text.data());
  }
  const char* q = p + 1;
  // Anything but a layout is left for whatever follows.
  if (!((*q >= '0' && *q <= '9') || *q == ':')) return 0;
  while (*q != '}' && *q != '\0' && *q != '\n' && *q != '{') ++q;
  return *q == '}' ? static_cast<uint32_t>(q + 1 - text.data()) : 0;
}

/// Whether the number of bits of an array fits 63 bits; unknown sizes count as 0.
bool CountsInBits(ElementType type, std::span<const int64_t> sizes) {
  int64_t bits = Info(type).bits;
  for (int64_t size : sizes) {
    if (size == 0 || size == kUnboundedSize) return true;
  }
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(bits, size, &bits)) return false;
  }
  return true;
}

}  // namespace

ShapeId Parser::FillLayouts(ShapeId shape) {
  return options_.fill_missing_layouts ? module_.shapes().FillMissingLayouts(shape) : shape;
}

bool Parser::ParseShape(ShapeId* shape) {
  // Tuples nest: keep the open ones on a stack instead of recursing.
  struct Open {
    size_t first;  // in `done`
  };
  std::vector<Open> open;
  std::vector<ShapeId> done;
  while (true) {
    if (Is(Tok::kLeftParen)) {
      if (static_cast<int>(open.size()) + nesting_ >= kMaxNesting) {
        return FailHere(DiagId::kTooDeep, "tuple types nest too deep");
      }
      Next();
      open.push_back({done.size()});
      if (!Is(Tok::kRightParen)) continue;
    } else {
      ShapeId leaf;
      if (!ParseArrayShape(&leaf)) return false;
      if (open.empty()) {
        *shape = leaf;
        return true;
      }
      done.push_back(leaf);
    }
    // Close what ends here; stop at a comma, which begins the next member.
    while (true) {
      if (Is(Tok::kComma)) {
        Next();
        break;
      }
      if (!Expect(Tok::kRightParen, "',' or ')'")) return false;
      size_t first = open.back().first;
      open.pop_back();
      ShapeId tuple = module_.shapes().Tuple({done.data() + first, done.size() - first});
      done.resize(first);
      if (open.empty()) {
        *shape = tuple;
        return true;
      }
      done.push_back(tuple);
    }
  }
}

bool Parser::ParseArrayShape(ShapeId* shape) {
  ShapePool& shapes = module_.shapes();
  if (IsBufferMarker()) {
    Next();
    Next();
    ShapeId inner;
    uint32_t at = token_.begin;
    if (!Is(Tok::kType)) return FailExpected("an array type");
    if (!ParseArrayShape(&inner)) return false;
    if (!shapes.IsArray(inner))
      return Fail(DiagId::kOperandShapeMismatch, at, "only arrays can be buffers");
    std::vector<uint8_t> dynamic;
    for (uint32_t i = 0; i < shapes.rank(inner); ++i) {
      dynamic.push_back(shapes.IsDynamicDimension(inner, i));
    }
    *shape =
        shapes.Array(shapes.type(inner), shapes.sizes(inner), shapes.layout(inner), dynamic, true);
    return Expect(Tok::kRightParen, "')'");
  }
  if (!Is(Tok::kType)) return FailExpected("a type");
  uint32_t begin = token_.begin;
  ShapeMemo* memo = nullptr;
  uint64_t hash = 0;
  uint32_t usual_end = UsualShapeEnd(lexer_.text(), token_.end);
  if (usual_end != 0) {
    std::string_view text = lexer_.Slice(begin, usual_end);
    hash = HashBytes(text);
    memo = &shape_memo_[hash & (shape_memo_.size() - 1)];
    if (memo->hash == hash && lexer_.Slice(memo->begin, memo->begin + memo->length) == text) {
      *shape = memo->shape;
      JumpTo(usual_end);
      return true;
    }
  }
  ElementType type = token_.type;
  Next();
  if (!Expect(Tok::kLeftSquare, "'['")) return false;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dynamic;
  while (!Is(Tok::kRightSquare)) {
    if (!sizes.empty() && !Expect(Tok::kComma, "',' or ']'")) return false;
    if (Eat(Tok::kQuestion)) {
      sizes.push_back(kUnboundedSize);
      dynamic.push_back(1);
      continue;
    }
    bool bounded = Eat(Tok::kLessEquals);
    uint32_t at = token_.begin;
    bool above = token_.has_escapes;
    int64_t size;
    if (!ParseInteger(&size, "a dimension size")) return false;
    if (size < 0 || above) {
      return Fail(DiagId::kShapeTooLarge, at, "a dimension size is negative or beyond 2^63-1");
    }
    sizes.push_back(size);
    dynamic.push_back(bounded);
  }
  Next();
  if (!IsArrayType(type)) {
    if (!sizes.empty())
      return Fail(DiagId::kOperandShapeMismatch, begin, "this type has no dimensions");
    *shape = type == ElementType::kToken ? shapes.Token() : shapes.Opaque();
    return true;
  }
  LayoutId layout;
  if (Is(Tok::kLeftBrace)) {
    Token ahead = lexer_.At(token_.end);
    if (ahead.kind == Tok::kInteger || ahead.kind == Tok::kColon) {
      Next();
      if (!ParseLayoutBody(sizes.size(), &layout)) return false;
    }
  }
  if (sizes.empty() && !layout.valid()) layout = shapes.Layout({});
  if (!CountsInBits(type, sizes)) {
    return Fail(DiagId::kShapeTooLarge, begin,
                "the array has more bits than a 64-bit number can count");
  }
  *shape = shapes.Array(type, sizes, layout, dynamic);
  if (memo != nullptr) *memo = {hash, begin, usual_end - begin, *shape};
  return true;
}

bool Parser::ParseLayoutBody(size_t rank, LayoutId* layout) {
  // Behind the '{'.
  std::vector<int64_t> minor_to_major;
  if (!Is(Tok::kColon)) {
    do {
      int64_t entry;
      if (!ParseInteger(&entry, "a dimension number")) return false;
      minor_to_major.push_back(entry);
    } while (Eat(Tok::kComma));
  }
  LayoutExtras extras;
  bool physical_shape = false;
  if (Eat(Tok::kColon) && !ParseLayoutAttributes(&extras, &physical_shape)) return false;
  if (!Expect(Tok::kRightBrace, "'}'")) return false;
  if (physical_shape)
    return FailHere(DiagId::kBadLayout, "a physical shape cannot stand inside a shape");
  if (minor_to_major.size() != rank) {
    return FailHere(DiagId::kBadLayout,
                    fmt::format("the layout has {} entries, but the type has {} dimensions",
                                minor_to_major.size(), rank),
                    "list each dimension once, the fastest varying first");
  }
  *layout = module_.shapes().Layout(minor_to_major, extras);
  return true;
}

bool Parser::ParseLayoutAttributes(LayoutExtras* extras, bool* physical_shape) {
  auto is_letter = [&](std::string_view letter) {
    return Is(Tok::kIdentifier) && TokenText() == letter;
  };
  auto in_parens = [&](int64_t* value) {
    return Expect(Tok::kLeftParen, "'('") && ParseInteger(value) && Expect(Tok::kRightParen, "')'");
  };
  auto type_in_parens = [&](ElementType* type) {
    if (!Expect(Tok::kLeftParen, "'('")) return false;
    if (!Is(Tok::kType) || Info(token_.type).kind != ElementKind::kUnsigned) {
      return FailExpected("an unsigned integer type");
    }
    *type = token_.type;
    Next();
    return Expect(Tok::kRightParen, "')'");
  };
  if (is_letter("D")) {  // dimension level types: read and dropped
    Next();
    if (!Expect(Tok::kLeftParen, "'('")) return false;
    do {
      std::string_view level = TokenText();
      if (!Is(Tok::kIdentifier) || std::string_view("DCSH").find(level) == std::string_view::npos) {
        return FailExpected("D, C, S or H");
      }
      Next();
      Eat(Tok::kPlus);
      Eat(Tok::kTilde);
    } while (Eat(Tok::kComma));
    if (!Expect(Tok::kRightParen, "')'")) return false;
  }
  if (is_letter("T")) {
    Next();
    if (!ParseTiles(extras)) return false;
  }
  if (is_letter("L")) {
    Next();
    if (!in_parens(&extras->tail_padding_alignment)) return false;
  }
  if (Eat(Tok::kHash) && !type_in_parens(&extras->index_type)) return false;
  if (Eat(Tok::kStar) && !type_in_parens(&extras->pointer_type)) return false;
  if (is_letter("E")) {
    Next();
    if (!in_parens(&extras->element_size_in_bits)) return false;
  }
  if (is_letter("S")) {
    Next();
    if (!in_parens(&extras->memory_space)) return false;
  }
  if (is_letter("SC")) {
    Next();
    if (!ParseSplits(extras)) return false;
  }
  if (is_letter("P")) {
    Next();
    ShapeId physical;
    if (++nesting_ > kMaxNestedOperands) return FailHere(DiagId::kTooDeep, "layouts nest too deep");
    bool ok =
        Expect(Tok::kLeftParen, "'('") && ParseShape(&physical) && Expect(Tok::kRightParen, "')'");
    --nesting_;
    if (!ok) return false;
    *physical_shape = true;
  }
  if (is_letter("M")) {
    Next();
    if (!in_parens(&extras->dynamic_shape_metadata_prefix_bytes)) return false;
  }
  return true;
}

bool Parser::ParseTiles(LayoutExtras* extras) {
  if (!Is(Tok::kLeftParen)) return FailExpected("'('");
  while (Eat(Tok::kLeftParen)) {
    std::vector<int64_t>& tile = extras->tiles.emplace_back();
    while (!Is(Tok::kRightParen)) {
      if (!tile.empty() && !Expect(Tok::kComma, "',' or ')'")) return false;
      if (Eat(Tok::kStar)) {
        tile.push_back(kCombineDimension);
        continue;
      }
      int64_t size;
      if (!ParseInteger(&size, "a tile size")) return false;
      tile.push_back(size);
    }
    Next();
  }
  return true;
}

bool Parser::ParseSplits(LayoutExtras* extras) {
  if (!Is(Tok::kLeftParen)) return FailExpected("'('");
  while (Eat(Tok::kLeftParen)) {
    SplitConfig& split = extras->splits.emplace_back();
    if (!ParseInteger(&split.dimension) || !Expect(Tok::kColon, "':'")) return false;
    while (!Is(Tok::kRightParen)) {
      if (!split.indices.empty() && !Expect(Tok::kComma, "',' or ')'")) return false;
      int64_t index;
      if (!ParseInteger(&index)) return false;
      split.indices.push_back(index);
    }
    Next();
  }
  return true;
}

bool Parser::ParseShapeOnly(ShapeId* shape) {
  JumpTo(0);
  if (!ParseShape(shape)) return false;
  return Is(Tok::kEnd) || FailExpected("the end");
}

bool Parser::ParseComputationLayoutOnly(const ComputationLayout& like, ComputationLayout* out) {
  JumpTo(0);
  if (!ParseComputationLayout(&like, out)) return false;
  return Is(Tok::kEnd) || FailExpected("the end");
}

bool Parser::ParseComputationLayout(const ComputationLayout* like, ComputationLayout* out) {
  ShapePool& shapes = module_.shapes();
  auto member = [&](ShapeId unset, bool may_be_unset, ShapeId* shape) {
    if (like != nullptr && Is(Tok::kIdentifier) && TokenText() == "unset") {
      if (!may_be_unset) {
        return FailHere(DiagId::kBadEntryLayout, "there are more layouts than parameters");
      }
      Next();
      // Scalars always carry the empty layout.
      std::vector<LayoutId> leaves;
      for (ShapeId leaf : shapes.Subshapes(unset)) {
        leaves.push_back(shapes.IsArray(leaf) && shapes.rank(leaf) == 0 ? shapes.Layout({})
                                                                        : LayoutId());
      }
      *shape = shapes.WithLeafLayouts(unset, leaves);
      return true;
    }
    return ParseShape(shape);
  };
  out->parameters.clear();
  if (!Expect(Tok::kLeftParen, "'('")) return false;
  while (!Is(Tok::kRightParen)) {
    if (!out->parameters.empty() && !Expect(Tok::kComma, "',' or ')'")) return false;
    size_t number = out->parameters.size();
    bool known = like != nullptr && number < like->parameters.size();
    ShapeId shape;
    if (!member(known ? like->parameters[number] : ShapeId(), known, &shape)) return false;
    out->parameters.push_back(shape);
  }
  Next();
  if (!Expect(Tok::kArrow, "'->'")) return false;
  return member(like != nullptr ? like->result : ShapeId(), like != nullptr, &out->result);
}

}  // namespace hlokit::read
