// What is the default layout of a shape?
#ifndef HLOKIT_SRC_PASSES_SHARED_DESCENDING_H_
#define HLOKIT_SRC_PASSES_SHARED_DESCENDING_H_

#include "hlokit/shape.h"

namespace hlokit {

/// Every array leaf with a fresh {n-1,…,1,0}: tiles, memory spaces and element sizes are gone,
/// unset layouts are set.
inline ShapeId FreshDefaultLayouts(ShapePool& shapes, ShapeId shape) {
  return shapes.FillMissingLayouts(shapes.ClearLayouts(shape));
}

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_DESCENDING_H_
