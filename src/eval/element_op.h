// How is one elementwise instruction computed on rows of stored elements?
#ifndef HLOKIT_SRC_EVAL_ELEMENT_OP_H_
#define HLOKIT_SRC_EVAL_ELEMENT_OP_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hlokit/module.h"

namespace hlokit::eval {

/// What a kernel works on: arrays of the C++ type of the compute type.
struct KernelArgs {
  const void* in[3] = {};
  void* out = nullptr;
  int64_t count = 0;
  ElementType type = ElementType::kInvalid;  ///< element type of the first operand
  ElementType out_type = ElementType::kInvalid;
  int bits = 0;              ///< of the first operand
  int direction = 0;         ///< compare
  bool total_order = false;  ///< compare
  int exponent_bits = 0;     ///< reduce-precision
  int mantissa_bits = 0;
};
using Kernel = void (*)(const KernelArgs&);

/// Kernels by family; null where the opcode does not exist for the type.
Kernel UnaryKernel(Opcode opcode, ElementType type);
Kernel TranscendentalKernel(Opcode opcode, ElementType type);
Kernel BinaryKernel(Opcode opcode, ElementType type);
Kernel CompareKernel(ElementType type);

/// An elementwise instruction: one to three operands of the same sizes, one result.
class ElementOp {
 public:
  /// Nothing when the instruction is not elementwise or its types are not supported.
  static std::optional<ElementOp> Make(const Module& module, InstId id);
  int operands() const { return operands_; }
  ElementType in_type(int i) const { return in_types_[i]; }
  ElementType out_type() const { return args_.out_type; }
  /// Pointers to stored elements. `out` may be one of the inputs only when it has the same width.
  void Run(const std::byte* const* in, std::byte* out, int64_t count) const;

 private:
  enum class Kind : uint8_t { kKernel, kCopy, kConvert, kSelect, kStochastic, kReducePrecision };
  static ElementType Widest(const ElementOp& op);
  void RunBlocks(const std::byte* const* in, std::byte* out, int64_t count) const;

  Kind kind_ = Kind::kKernel;
  Kernel kernel_ = nullptr;
  int operands_ = 1;
  ElementType in_types_[3] = {};
  ElementType kernel_out_ = ElementType::kInvalid;
  KernelArgs args_;
};

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_ELEMENT_OP_H_
