// How is the scalar computation of reduce, map, sort, scatter and others applied many times?
#ifndef HLOKIT_SRC_EVAL_FUNCTION_H_
#define HLOKIT_SRC_EVAL_FUNCTION_H_

#include <optional>
#include <span>
#include <vector>

#include "src/eval/element_op.h"
#include "src/eval/engine.h"

namespace hlokit::eval {

/// A computation of scalars. When it holds elementwise instructions only, it becomes a list of
/// kernel calls that work on many elements at a time; else the engine runs it once per element.
class Function {
 public:
  /// For the instruction `id`, on one device. Fails when a parameter or result is no scalar.
  static Result<Function> Make(OpContext& context, CompId computation);

  size_t parameters() const { return parameter_types_.size(); }
  size_t results() const { return result_types_.size(); }
  ElementType parameter_type(size_t i) const { return parameter_types_[i]; }
  ElementType result_type(size_t i) const { return result_types_[i]; }

  /// Applies it to `count` stored elements per parameter. Outputs may be inputs.
  Status Apply(std::span<const std::byte* const> in, std::span<std::byte* const> out,
               int64_t count);

  /// The only instruction besides the parameters, when it is a binary one of both in any order
  /// whose result is the root: its opcode; else kUnknown.
  Opcode plain_binary() const { return plain_binary_; }

 private:
  struct Step {
    ElementOp op;
    uint32_t in[3];
    uint32_t out;
  };
  explicit Function(OpContext& context) : engine_(context.engine), id_(context.id) {}
  bool Compile(CompId computation);
  Status RunSlowly(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                   int64_t count);

  Engine& engine_;
  InstId id_;
  uint32_t device_ = 0;
  CompId computation_;
  std::vector<ElementType> parameter_types_, result_types_;
  std::vector<ShapeId> parameter_shapes_;
  bool compiled_ = false;
  std::vector<Step> steps_;
  std::vector<std::vector<std::byte>> registers_;  // parameters first
  std::vector<uint32_t> results_;
  Opcode plain_binary_ = Opcode::kUnknown;
};

/// The computation of a reduce or a reduce-window: of n accumulators and n elements, for n arrays
/// and n initial values. Refused when types or numbers do not fit.
Result<Function> MakeReducer(OpContext& context);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_FUNCTION_H_
