// Loops over the elements of one, two or three arrays; the function objects say what is computed.
#ifndef HLOKIT_SRC_EVAL_KERNELS_H_
#define HLOKIT_SRC_EVAL_KERNELS_H_

#include "src/eval/element_op.h"
#include "src/eval/native.h"

namespace hlokit::eval {

template <typename In, typename Out, typename F>
void UnaryLoop(const KernelArgs& args, F f) {
  const In* in = static_cast<const In*>(args.in[0]);
  Out* out = static_cast<Out*>(args.out);
  for (int64_t i = 0; i < args.count; ++i) out[i] = f(in[i]);
}

template <typename In, typename Out, typename F>
void BinaryLoop(const KernelArgs& args, F f) {
  const In* left = static_cast<const In*>(args.in[0]);
  const In* right = static_cast<const In*>(args.in[1]);
  Out* out = static_cast<Out*>(args.out);
  for (int64_t i = 0; i < args.count; ++i) out[i] = f(left[i], right[i]);
}

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_KERNELS_H_
