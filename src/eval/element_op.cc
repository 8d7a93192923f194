// How is one elementwise instruction computed on rows of stored elements?
#include "src/eval/element_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "hlokit/float_codec.h"
#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

constexpr int64_t kBlock = 512;

bool IsTranscendental(Opcode opcode, ElementType type) {
  return TranscendentalKernel(opcode, type) != nullptr;
}

/// The fields of a number cut to fewer exponent and mantissa bits; what is too large becomes
/// infinity, what is too small zero.
uint64_t ReducePrecision(const FloatFormat& format, uint64_t bits, int exponent_bits,
                         int mantissa_bits, bool is_nan) {
  const uint64_t sign = bits & format.sign_bit();
  const uint64_t infinity = format.magnitude_mask() & ~format.mantissa_mask();
  uint64_t magnitude = bits & format.magnitude_mask();
  if (is_nan) return mantissa_bits > 0 ? bits : sign | infinity;
  if (mantissa_bits < format.mantissa_bits) {
    const int cut = format.mantissa_bits - mantissa_bits;
    const uint64_t unit = uint64_t{1} << cut;
    magnitude += (unit >> 1) - 1 + (magnitude >> cut & 1);
    magnitude &= ~(unit - 1);
  }
  if (exponent_bits < format.exponent_bits) {
    const int64_t bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    const int64_t exponent = static_cast<int64_t>(magnitude >> format.mantissa_bits);
    if (exponent > format.bias + bias) return sign | infinity;
    if (exponent <= format.bias - bias) return sign;
  }
  return sign | magnitude;
}

uint64_t LoadBits(const std::byte* at, int width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(width));
  return bits;
}

/// The type that the kernel of an opcode writes.
ElementType KernelResult(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kCompare:
    case Opcode::kIsFinite:
      return ElementType::kPred;
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
      return ComponentType(ComputeType(type));
    case Opcode::kComplex:
      return type == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
    default:
      return ComputeType(type);
  }
}

/// Rounds away from zero when the random number is below the part that is cut off.
void StochasticToInteger(ElementType to, double value, uint64_t random, int bits, std::byte* out) {
  double whole = std::trunc(std::fabs(value));
  const double rest = std::fabs(value) - whole;
  if (std::isfinite(value) && static_cast<double>(random) < std::ldexp(rest, bits)) whole += 1;
  const double rounded = std::copysign(whole, value);
  ConvertElements(ElementType::kF64, &rounded, to, out, 1);
}

void StochasticToFloat(ElementType to, double value, uint64_t random, int bits, std::byte* out) {
  uint64_t code = EncodeFloat(to, value);
  const double nearest = DecodeFloat(to, code);
  if (std::isfinite(value) && std::isfinite(nearest) && nearest != value) {
    // The neighbour on the other side of the value.
    const bool away = std::fabs(nearest) < std::fabs(value);
    const uint64_t other = away ? code + 1 : code - 1;
    const double far = DecodeFloat(to, other);
    const double inner = away ? nearest : far, outer = away ? far : nearest;
    const double part =
        (std::fabs(value) - std::fabs(inner)) / (std::fabs(outer) - std::fabs(inner));
    const bool up = static_cast<double>(random) < std::ldexp(part, bits);
    code = up == away ? other : code;
  }
  std::memcpy(out, &code, static_cast<size_t>(StorageBytes(to)));
}

}  // namespace

ElementType ElementOp::Widest(const ElementOp& op) {
  // Mixed precision: only floats may differ, and each low float is exact in the type that computes
  // it.
  ElementType widest = op.in_types_[0];
  for (int i = 1; i < op.operands_; ++i) {
    if (Info(op.in_types_[i]).bits > Info(widest).bits) widest = op.in_types_[i];
  }
  return widest;
}

std::optional<ElementOp> ElementOp::Make(const Module& module, InstId id) {
  const ShapePool& shapes = module.shapes();
  const Opcode opcode = module.opcode(id);
  const std::span<const InstId> operands = module.operands(id);
  if (operands.empty() || operands.size() > 3 || !shapes.IsArray(module.shape(id))) {
    return std::nullopt;
  }
  ElementOp op;
  op.operands_ = static_cast<int>(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    op.in_types_[i] = shapes.type(module.shape(operands[i]));
    if (!IsArrayType(op.in_types_[i])) return std::nullopt;
  }
  KernelArgs& args = op.args_;
  args.type = op.in_types_[0];
  args.out_type = shapes.type(module.shape(id));
  args.bits = Info(args.type).bits;
  switch (opcode) {
    case Opcode::kConvert:
      op.kind_ = Kind::kConvert;
      return op;
    case Opcode::kBitcastConvert:
      if (Info(args.type).bits != Info(args.out_type).bits) return std::nullopt;
      op.kind_ = Kind::kCopy;
      return op;
    case Opcode::kCopy:
      op.kind_ = Kind::kCopy;
      return op;
    case Opcode::kReducePrecision:
      args.exponent_bits = static_cast<int>(module.IntAttr(id, AttrKind::kExponentBits));
      args.mantissa_bits = static_cast<int>(module.IntAttr(id, AttrKind::kMantissaBits));
      op.kind_ = Kind::kReducePrecision;
      if (args.exponent_bits < 1 || args.mantissa_bits < 0 || !IsFloating(args.type)) {
        return std::nullopt;
      }
      return op;
    case Opcode::kStochasticConvert:
      op.kind_ = Kind::kStochastic;
      return op;
    case Opcode::kSelect:
      op.kind_ = Kind::kSelect;
      if (args.type != ElementType::kPred) return std::nullopt;
      break;
    case Opcode::kCompare: {
      args.direction = static_cast<int>(module.IntAttr(id, AttrKind::kDirection));
      const Attr* type = module.FindAttr(id, AttrKind::kComparisonType);
      args.total_order = type != nullptr && static_cast<ComparisonType>(type->integer()) ==
                                                ComparisonType::kTotalOrder;
      args.type = Widest(op);
      op.kernel_ = CompareKernel(args.type);
      break;
    }
    default:
      args.type = Widest(op);
      op.kernel_ = operands.size() > 1                   ? BinaryKernel(opcode, args.type)
                   : IsTranscendental(opcode, args.type) ? TranscendentalKernel(opcode, args.type)
                                                         : UnaryKernel(opcode, args.type);
  }
  const ElementType out = args.out_type;
  switch (op.kind_) {
    case Kind::kSelect:
      if (op.in_types_[1] != out || op.in_types_[2] != out) return std::nullopt;
      break;
    case Kind::kKernel:
      op.kernel_out_ = KernelResult(opcode, args.type);
      if (op.kernel_ == nullptr) return std::nullopt;
      break;
    default:
      break;
  }
  return op;
}

void ElementOp::RunBlocks(const std::byte* const* in, std::byte* out, int64_t count) const {
  // Whatever the kernel does not compute itself is converted on the way in and out.
  alignas(16) std::byte converted[3][kBlock * 16];
  alignas(16) std::byte result[kBlock * 16];
  const ElementType type = ComputeType(args_.type);
  for (int64_t at = 0; at < count; at += kBlock) {
    KernelArgs args = args_;
    args.count = std::min(kBlock, count - at);
    for (int i = 0; i < operands_; ++i) {
      const std::byte* source = in[i] + at * StorageBytes(in_types_[i]);
      args.in[i] = source;
      if (ComputeType(in_types_[i]) != in_types_[i] || in_types_[i] != type) {
        ConvertElements(in_types_[i], source, type, converted[i], args.count);
        args.in[i] = converted[i];
      }
    }
    std::byte* target = out + at * StorageBytes(args_.out_type);
    args.out = kernel_out_ == args_.out_type ? target : result;
    kernel_(args);
    if (kernel_out_ != args_.out_type) {
      ConvertElements(kernel_out_, result, args_.out_type, target, args.count);
    }
  }
}

void ElementOp::Run(const std::byte* const* in, std::byte* out, int64_t count) const {
  if (count == 0) return;
  const int width = StorageBytes(args_.out_type);
  switch (kind_) {
    case Kind::kCopy:
      std::memmove(out, in[0], static_cast<size_t>(count * width));
      return;
    case Kind::kConvert:
      ConvertElements(args_.type, in[0], args_.out_type, out, count);
      return;
    case Kind::kSelect: {
      const int from = StorageBytes(in_types_[1]);
      for (int64_t i = 0; i < count; ++i) {
        const bool first = in[0][i] != std::byte{0};
        std::memcpy(out + i * width, in[first ? 1 : 2] + i * from, static_cast<size_t>(width));
      }
      return;
    }
    case Kind::kReducePrecision: {
      const FloatFormat format = FloatFormatOf(args_.type);
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t bits = LoadBits(in[0] + i * width, width);
        const uint64_t reduced = ReducePrecision(format, bits, args_.exponent_bits,
                                                 args_.mantissa_bits, IsNan(args_.type, bits));
        std::memcpy(out + i * width, &reduced, static_cast<size_t>(width));
      }
      return;
    }
    case Kind::kStochastic:
      for (int64_t i = 0; i < count; ++i) {
        const int from = StorageBytes(args_.type), bytes = StorageBytes(in_types_[1]);
        const double value = DecodeFloat(args_.type, LoadBits(in[0] + i * from, from));
        const uint64_t random = LoadBits(in[1] + i * bytes, bytes);
        const int bits = Info(in_types_[1]).bits;
        IsFloating(args_.out_type)
            ? StochasticToFloat(args_.out_type, value, random, bits, out + i * width)
            : StochasticToInteger(args_.out_type, value, random, bits, out + i * width);
      }
      return;
    case Kind::kKernel:
      break;
  }
  bool direct = kernel_out_ == ComputeType(args_.out_type) && !IsLowFloat(args_.out_type);
  for (int i = 0; i < operands_; ++i) {
    direct =
        direct && !IsLowFloat(in_types_[i]) && ComputeType(in_types_[i]) == ComputeType(args_.type);
  }
  if (!direct) return RunBlocks(in, out, count);
  KernelArgs args = args_;
  args.count = count;
  for (int i = 0; i < operands_; ++i) args.in[i] = in[i];
  args.out = out;
  kernel_(args);
  if (IsIntegral(args_.out_type)) WrapPacked(args_.out_type, out, count);
}

}  // namespace hlokit::eval
