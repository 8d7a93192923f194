#ifndef HLOKIT_ID_H_
#define HLOKIT_ID_H_

#include <compare>
#include <cstdint>
#include <functional>

namespace hlokit {

/// A typed 32-bit index into one of the flat arrays of a Module or a ShapePool.
template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

using InstId = Id<struct InstTag>;        ///< an instruction of a Module
using CompId = Id<struct CompTag>;        ///< a computation of a Module
using ShapeId = Id<struct ShapeTag>;      ///< an interned shape: equal shapes have equal ids
using LayoutId = Id<struct LayoutTag>;    ///< an interned layout: equal layouts have equal ids
using LiteralId = Id<struct LiteralTag>;  ///< the value of a constant

/// A byte range in the TextArena of a module: names, strings, text that is only echoed.
struct StrRef {
  uint32_t offset = 0;
  uint32_t length = 0;
  constexpr bool empty() const { return length == 0; }
};

}  // namespace hlokit

template <typename Tag>
struct std::hash<hlokit::Id<Tag>> {
  size_t operator()(hlokit::Id<Tag> id) const { return id.value * size_t{0x9e3779b97f4a7c15}; }
};

#endif  // HLOKIT_ID_H_
