// How is the value of a constant moved to other dimensions?
#include "src/passes/shared/literals.h"

#include "hlokit/permute.h"
#include "src/passes/shared/permute_shape.h"

namespace hlokit {

Result<LiteralId> PermuteLiteral(Module& module, LiteralId literal,
                                 std::span<const int64_t> permutation) {
  ShapePool& shapes = module.shapes();
  ShapeId from = module.literal(literal).shape;
  LiteralData data{
      .shape = PermuteDimensions(shapes, shapes.ClearLayouts(from), permutation),
      .elided = module.literal(literal).elided,
  };
  uint64_t size = module.literal(literal).size;
  LiteralId result = module.AddLiteral(data);
  if (data.elided) return result;
  PermuteSpec spec;
  std::span<const int64_t> sizes = shapes.sizes(from);
  spec.dims.assign(sizes.begin(), sizes.end());
  spec.permutation.assign(permutation.begin(), permutation.end());
  spec.element_bits = 8 * StorageBytes(shapes.type(from));
  ASSIGN_OR_RETURN(PermutePlan plan, PermutePlan::Make(spec));
  std::span<std::byte> to = module.AllocateLiteralBytes(result, size);
  if (!to.empty()) plan.Run(module.literal_bytes(literal).data(), to.data(), {.threads = 1});
  return result;
}

}  // namespace hlokit
