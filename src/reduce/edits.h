// Which changes make a module smaller?
#ifndef HLOKIT_SRC_REDUCE_EDITS_H_
#define HLOKIT_SRC_REDUCE_EDITS_H_

#include <cstdint>
#include <optional>

#include "hlokit/module.h"

namespace hlokit::reduce {

enum class EditKind : uint8_t {
  kExtract,     ///< the root of a called computation becomes the entry root
  kHeader,      ///< aliases and donors go
  kAttributes,  ///< one kind of descriptive attribute goes everywhere
  kResults,     ///< elements of the entry result go; or an operand becomes the result
  kDescend,     ///< an element of the result becomes one of its operands
  kCut,         ///< values of the entry become parameters
  kBypass,      ///< users read an operand of the same shape instead
  kParameters,  ///< unused parameters of the entry go
};
inline constexpr EditKind kEditKinds[] = {
    EditKind::kExtract, EditKind::kHeader, EditKind::kAttributes, EditKind::kResults,
    EditKind::kDescend, EditKind::kCut,    EditKind::kBypass,     EditKind::kParameters};

/// How many things an edit of this kind can be applied to. They are numbered from 0, and edits take
/// consecutive ones.
size_t CountTargets(const Module& module, EditKind kind);

/// The module after the edit of targets [begin, end), cleaned of dead code; nothing when it cannot
/// be made or is not smaller.
std::optional<Module> ApplyEdit(const Module& module, EditKind kind, size_t begin, size_t end);

/// What is made smaller: instructions count most, then parameters, then attributes.
uint64_t CostOf(const Module& module);

}  // namespace hlokit::reduce

#endif  // HLOKIT_SRC_REDUCE_EDITS_H_
