// The state of layout-normalization, and the rules that it dispatches to.
#ifndef HLOKIT_SRC_PASSES_NORMALIZATION_NORMALIZER_H_
#define HLOKIT_SRC_PASSES_NORMALIZATION_NORMALIZER_H_

#include <span>
#include <string_view>
#include <vector>

#include "hlokit/pass.h"
#include "src/passes/shared/permute_shape.h"

namespace hlokit {

/// Words of layout-normalization.md: p(S) lists the logical dimensions of S in physical order, q(S)
/// is its inverse, N(S) is S with its dimensions in physical order and a descending layout.
struct NormalizerOptions {
  bool reference_quirks = true;
  const PassContext* context = nullptr;  ///< for warnings
};

class Normalizer {
 public:
  Normalizer(Rewriter& rewriter, const NormalizerOptions& options)
      : rewriter_(rewriter),
        module_(rewriter.module()),
        shapes_(module_.shapes()),
        options_(options) {}

  /// One instruction, whose operands have been visited.
  Status Visit(InstId inst);

 private:
  using Permutation = std::vector<int64_t>;
  using Rule = Status (Normalizer::*)(InstId);
  static Rule RuleFor(Opcode opcode);

  // Rules, by the question how the dimensions of the result relate to those of the operands.
  Status Default(InstId inst);      // the operation stays, its users read a bitcast pair
  Status Constant(InstId inst);     // the literal gets the physical dimensions
  Status Elementwise(InstId inst);  // same operation on physical dimensions
  Status Unary(InstId inst);        // the same; the new shape follows the operand
  Status Ternary(InstId inst);
  Status Slice(InstId inst);
  Status DynamicSlice(InstId inst);
  Status DynamicUpdateSlice(InstId inst);
  Status Pad(InstId inst);
  Status Reverse(InstId inst);
  Status Concatenate(InstId inst);
  Status ReduceWindow(InstId inst);
  Status Iota(InstId inst);
  Status Broadcast(InstId inst);
  Status Reshape(InstId inst);
  Status BitcastConvert(InstId inst);
  Status Transpose(InstId inst);
  Status Copy(InstId inst);
  Status Scatter(InstId inst);
  Status ScatterTuple(InstId inst, std::span<const InstId> operands,
                      std::span<const Attr> attributes);
  Status Convolution(InstId inst);

  // ---- helpers ----
  /// Fails when the attributes do not fit the shapes, which text that nobody verified may hold.
  Status CheckAttributes(InstId inst) const;
  bool IsNormal(InstId inst) const;  // an array in descending layout
  Permutation P(InstId inst) const {
    return PhysicalOrder(shapes_, shapes_.layout(module_.shape(inst)));
  }
  Permutation Q(InstId inst) const { return InversePermutation(P(inst)); }
  ShapeId N(ShapeId array);
  ShapeId N(InstId inst) { return N(module_.shape(inst)); }
  /// The operand itself when it is normal, else what its bitcast reads.
  Result<InstId> Input(InstId user, uint32_t operand);
  /// Fails unless the operand is laid out like the result.
  Status RequireSameLayout(InstId inst, uint32_t operand) const;
  std::unexpected<Error> CannotHandle(InstId inst, std::string_view why) const;
  /// What the new operation takes over from the old one besides metadata.
  enum class Keep : uint8_t {
    kMeaning,  ///< attributes that say what the operation does
    kAll,      ///< these and sharding, frontend attributes, statistics, backend config
  };
  std::vector<Attr> Attributes(InstId inst, Keep keep) const;
  /// The same with one attribute replaced.
  std::vector<Attr> Attributes(InstId inst, Keep keep, Attr replaced) const;
  std::vector<Attr> Dimensions(InstId inst, Keep keep, std::span<const int64_t> dimensions);
  /// The shape of an operation on `input` that only changes the element type to that of `inst`.
  ShapeId ShapeAfter(InstId input, InstId inst);
  int64_t RemapIndexVectorDim(InstId scatter, int64_t dimension, std::span<const int64_t> q) const;
  /// The new operation, with the metadata of the old one; named after its opcode or `name`.
  InstId Make(InstId old, Opcode opcode, ShapeId shape, std::span<const InstId> operands,
              std::span<const Attr> attributes, std::string_view name = {});
  /// Replaces `old` by `value`, through a bitcast when the shapes differ.
  void ReplaceBy(InstId old, InstId value);
  /// Make and ReplaceBy with shape N(old).
  Status Rewrite(InstId old, Opcode opcode, std::span<const InstId> operands,
                 std::span<const Attr> attributes);
  Status RewriteUnary(InstId old, Opcode opcode, InstId operand, std::span<const Attr> attributes) {
    return Rewrite(old, opcode, {&operand, 1}, attributes);
  }
  InstId AddBitcast(InstId operand, ShapeId shape);
  /// Groups of `width` numbers per dimension, in physical order.
  std::vector<int64_t> PermuteGroups(std::span<const int64_t> values, size_t width,
                                     std::span<const int64_t> order) const;

  Rewriter& rewriter_;
  Module& module_;
  ShapePool& shapes_;
  NormalizerOptions options_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_NORMALIZATION_NORMALIZER_H_
