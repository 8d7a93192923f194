// The computations of array instructions, one per opcode or family; the table is op_table.cc.
#ifndef HLOKIT_SRC_EVAL_HANDLERS_H_
#define HLOKIT_SRC_EVAL_HANDLERS_H_

#include "src/eval/engine.h"

namespace hlokit::eval {

// elementwise.cc
Status Elementwise(OpContext& c);
Status Map(OpContext& c);

// movement.cc
Status BitcastConvert(OpContext& c);
Status Broadcast(OpContext& c);
Status Concatenate(OpContext& c);
Status CopyOp(OpContext& c);
Status DynamicReshape(OpContext& c);
Status Iota(OpContext& c);
Status Pad(OpContext& c);
Status Reshape(OpContext& c);
Status Reverse(OpContext& c);
Status Slice(OpContext& c);
Status Transpose(OpContext& c);

// indexing.cc
Status DynamicSlice(OpContext& c);
Status DynamicUpdateSlice(OpContext& c);
Status Gather(OpContext& c);
Status Scatter(OpContext& c);

// reductions.cc, windows.cc
Status Reduce(OpContext& c);
Status ReduceWindow(OpContext& c);
Status SelectAndScatter(OpContext& c);

// sorting.cc
Status Sort(OpContext& c);
Status TopK(OpContext& c);

// contraction.cc, convolution.cc
Status Dot(OpContext& c);
Status RaggedDot(OpContext& c);
Status ScaledDot(OpContext& c);
Status Convolution(OpContext& c);

// algebra.cc, fft.cc, normalization.cc
Status Cholesky(OpContext& c);
Status TriangularSolve(OpContext& c);
Status Fft(OpContext& c);
Status BatchNormGrad(OpContext& c);
Status BatchNormInference(OpContext& c);
Status BatchNormTraining(OpContext& c);

// random.cc
Status Rng(OpContext& c);
Status RngBitGenerator(OpContext& c);
Status RngGetAndUpdateState(OpContext& c);

/// Element `i` of an integer or pred array.
int64_t IntegerAt(const ArrayView& array, int64_t i);
/// start limited to 0 … size - window.
inline int64_t ClampStart(int64_t start, int64_t size, int64_t window) {
  const int64_t last = size - window;
  return start < 0 ? 0 : start > last ? (last < 0 ? 0 : last) : start;
}

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_HANDLERS_H_
