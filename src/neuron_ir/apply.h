#ifndef HLOKIT_SRC_NEURON_IR_APPLY_H_
#define HLOKIT_SRC_NEURON_IR_APPLY_H_

#include <span>

#include "hlokit/io_transposes.h"
#include "hlokit/module.h"

namespace hlokit {

/// Rewrites a module so that the named parameters arrive already moved: the parameter gets the
/// transposed shape in row-major order, and an inverse transpose (and reshape) behind it gives all
/// users the value they had. All or nothing. Fails with kCheckFailed as WrapNeff does (N005, N007,
/// N008, N021, N022), and with kUnsupported (N022) on scheduled modules and on parameters that are
/// sharded, donated or aliased with an output.
Status ApplyIoTransposes(Module& module, std::span<const IoTranspose> specs);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_APPLY_H_
