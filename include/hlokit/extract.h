#ifndef HLOKIT_EXTRACT_H_
#define HLOKIT_EXTRACT_H_

#include <cstdint>
#include <limits>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct ExtractOptions {
  static constexpr uint32_t kAllTheWay = std::numeric_limits<uint32_t>::max();
  /// How many operands up to go: 0 is the instruction alone. The start and the end of an
  /// asynchronous operation count as one step.
  uint32_t height = kAllTheWay;
};

/// The instruction with its context as a module of its own. Its computation, cut down to the
/// instruction and its operands up to the height, becomes the entry. A value above the cut becomes
/// a parameter of the same name and shape, unless it can be made out of nothing: constants, iotas,
/// partition and replica ids stay; a token becomes an after-all, a buffer a CreateBuffer call.
/// Called computations come along in full. Parameters of the computation are numbered first, in
/// their order, then the values that were cut, in the order of the instruction list.
///
/// An asynchronous operation is never cut in two: its start comes with its end, which is then the
/// result when the start was asked for.
///
/// The entry layout is that of the shapes; parameters of the entry, and its result, keep what the
/// header said. Aliases and donors are dropped, since parameters have other numbers. The new module
/// shares the pools of text and shapes with the old one, so both must stay on one thread. Linear in
/// the size of the module.
///
/// Fails with kUsage when the start of an asynchronous operation is asked for that another
/// computation ends.
Result<Module> ExtractInstruction(const Module& module, InstId instruction,
                                  const ExtractOptions& options = {});

}  // namespace hlokit

#endif  // HLOKIT_EXTRACT_H_
