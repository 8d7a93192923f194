// The descriptions of all passes, for the registry.
#ifndef HLOKIT_SRC_PASSES_PASSES_H_
#define HLOKIT_SRC_PASSES_PASSES_H_

#include "hlokit/pass.h"

namespace hlokit {

#define HLOKIT_PASS(symbol) extern const PassInfo symbol;
#include "src/passes/passes.def"

/// PassInfo::make for a class with a default constructor.
template <typename T>
std::unique_ptr<Pass> MakePass() {
  return std::make_unique<T>();
}

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_PASSES_H_
