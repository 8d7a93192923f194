// Removes tuples that are built only to be taken apart, and tuples that rebuild a tuple that
// exists. What replaces an instruction inherits the metadata, sharding and control edges that it
// lacks.
#include "hlokit/simplify.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr OptionSpec kOptions[] = {
    {"exclude-entry", OptionType::kBool, "false", "leave the entry computation alone"},
};

class TupleSimplifier : public Pass {
 public:
  std::string_view name() const override { return "tuple-simplifier"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    return SimplifyTuples(module, context.options.Bool("exclude-entry"), context.log);
  }
};

}  // namespace

const PassInfo kTupleSimplifier = {
    .make = MakePass<TupleSimplifier>,
    .summary = "remove tuples that are only taken apart or only put together again",
    .help =
        "get-tuple-element(tuple(a, b), index=1) becomes b. tuple(get-tuple-element(x, 0), "
        "get-tuple-element(x, 1)) becomes x when x has exactly these elements.",
    .options = kOptions,
};

}  // namespace hlokit
