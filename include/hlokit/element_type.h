#ifndef HLOKIT_ELEMENT_TYPE_H_
#define HLOKIT_ELEMENT_TYPE_H_

#include <cstdint>
#include <string_view>

namespace hlokit {

/// Element types of hlo-text.md section 4.1, plus kTuple for tuple shapes.
enum class ElementType : uint8_t {
#define HLOKIT_ELEMENT_TYPE(id, text, bits, kind, proto) id,
#include "hlokit/element_types.def"
};

enum class ElementKind : uint8_t { kOther, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct ElementTypeInfo {
  std::string_view text;  ///< keyword, for instance "f32"; empty for kTuple and kInvalid
  uint8_t bits;           ///< bits of one element; 0 where a type has no elements
  ElementKind kind;
  uint8_t proto;  ///< number of the type in the proto form
};

inline constexpr ElementTypeInfo kElementTypes[] = {
#define HLOKIT_ELEMENT_TYPE(id, text, bits, kind, proto) {text, bits, ElementKind::kind, proto},
#include "hlokit/element_types.def"
};
inline constexpr int kElementTypeCount = sizeof(kElementTypes) / sizeof(kElementTypes[0]);

constexpr const ElementTypeInfo& Info(ElementType type) {
  return kElementTypes[static_cast<int>(type)];
}
/// kInvalid when the word is no element type keyword.
ElementType ElementTypeFromText(std::string_view word);

constexpr bool IsIntegral(ElementType type) {
  return Info(type).kind == ElementKind::kSigned || Info(type).kind == ElementKind::kUnsigned;
}
constexpr bool IsFloating(ElementType type) { return Info(type).kind == ElementKind::kFloat; }
constexpr bool IsComplex(ElementType type) { return Info(type).kind == ElementKind::kComplex; }
/// True for the types that arrays can have (all but token, opaque and tuple).
constexpr bool IsArrayType(ElementType type) { return Info(type).kind != ElementKind::kOther; }
/// c64 -> f32, c128 -> f64, every other type -> itself.
constexpr ElementType ComponentType(ElementType type) {
  return type == ElementType::kC64    ? ElementType::kF32
         : type == ElementType::kC128 ? ElementType::kF64
                                      : type;
}

}  // namespace hlokit

#endif  // HLOKIT_ELEMENT_TYPE_H_
