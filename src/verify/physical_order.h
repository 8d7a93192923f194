// Does a reinterpretation of the same bytes keep the elements in place?
#ifndef HLOKIT_SRC_VERIFY_PHYSICAL_ORDER_H_
#define HLOKIT_SRC_VERIFY_PHYSICAL_ORDER_H_

#include "hlokit/shape.h"

namespace hlokit {

/// With both layouts (orders that are permutations; tiles are not looked at), element number i in
/// row-major logical order lies at the same place in both arrays, for every i: a reshape between
/// them moves nothing.
bool IsReshapeBitcast(const ShapePool& shapes, ShapeId from, ShapeId to);
/// The sizes in physical order are the same, those of size 1 left out: a transposition between them
/// moves nothing.
bool IsTransposeBitcast(const ShapePool& shapes, ShapeId from, ShapeId to);

}  // namespace hlokit

#endif  // HLOKIT_SRC_VERIFY_PHYSICAL_ORDER_H_
