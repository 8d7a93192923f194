// A parameter that arrives already moved: does the rewritten module compute what the old one did?
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "hlokit/equal.h"
#include "hlokit/file.h"
#include "hlokit/permute.h"
#include "src/neuron_ir/apply.h"
#include "src/neuron_ir/entry_inputs.h"
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

/// What the host makes of an array: reshaped, then its axes permuted.
HostArray Moved(const HostArray& array, const IoTranspose& spec) {
  HostArray out = array;
  out.sizes.clear();
  for (int64_t axis : spec.transpose) out.sizes.push_back(spec.reshape[axis]);
  PermuteSpec permute{.dims = spec.reshape, .permutation = spec.transpose};
  permute.element_bits = 8 * StorageBytes(array.type);
  if (!out.bytes.empty()) {
    EXPECT_TRUE(PermuteNaive(permute, array.bytes.data(), out.bytes.data()));
  }
  return out;
}

/// Sizes with the first splittable dimension cut in two, so that the reshape is not the shape.
std::vector<int64_t> Split(std::span<const int64_t> sizes) {
  std::vector<int64_t> out;
  bool done = false;
  for (int64_t size : sizes) {
    const bool even = !done && size >= 4 && size % 2 == 0;
    if (even) out.push_back(size / 2);
    out.push_back(even ? 2 : size);
    done = done || even;
  }
  return out;
}

int Prove(const Module& module, size_t number, std::string_view name, bool split) {
  const ShapeId shape = module.shape(module.computation(module.entry()).parameters[number]);
  const std::span<const int64_t> sizes = module.shapes().sizes(shape);
  IoTranspose spec;
  spec.input_name = name;
  spec.reshape = split ? Split(sizes) : std::vector<int64_t>(sizes.begin(), sizes.end());
  spec.transpose.resize(spec.reshape.size());
  std::iota(spec.transpose.rbegin(), spec.transpose.rend(), 0);
  Module moved = module;
  if (!ApplyIoTransposes(moved, {&spec, 1})) return 0;
  size_t leaf = 0;
  for (size_t i = 0; i < number; ++i) {
    leaf +=
        module.shapes()[module.shape(module.computation(module.entry()).parameters[i])].leaf_count;
  }
  for (InputRule rule : {InputRule::kDistinct, InputRule::kExtreme}) {
    const HostLeaves inputs = MakeInputs(module, rule, 1);
    HostLeaves arrived = inputs;
    arrived[leaf] = Moved(inputs[leaf], spec);
    EvalOptions options;
    options.max_work = 1 << 24;
    const Result<std::vector<HostLeaves>> before = Evaluate(module, {&inputs, 1}, options);
    if (!before) return 0;
    const Result<std::vector<HostLeaves>> after = Evaluate(moved, {&arrived, 1}, options);
    EXPECT_TRUE(after) << FormatError(after.error());
    if (!after) return 0;
    EXPECT_EQ((*before)[0], (*after)[0]) << module.config().name << " " << name;
  }
  return 1;
}

TEST(IoTransposes, ApplyKeepsEveryBit) {
  int proven = 0;
  std::vector<std::string> files;
  for (const char* set : {"scenarios", "evaluate"}) {
    const std::string folder = std::string(HLOKIT_SOURCE_DIR) + "/tests/golden/data/inputs/" + set;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    Result<std::string> text = ReadFile(file);
    ASSERT_TRUE(text);
    Result<Module> module = ReadText(std::move(*text));
    if (!module || !VerifyModule(*module)) continue;
    const std::vector<InstId>& parameters = module->computation(module->entry()).parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ShapeId shape = module->shape(parameters[i]);
      if (!module->shapes().IsArray(shape) || module->shapes().rank(shape) < 2) continue;
      const Result<EntryInputs> inputs = EntryInputs::Of(*module);
      if (!inputs) continue;
      proven += Prove(*module, i, inputs->names()[i], false);
      proven += Prove(*module, i, inputs->names()[i], true);
    }
  }
  std::printf("%d moved parameters proven\n", proven);
  EXPECT_GT(proven, 100);
}

}  // namespace
}  // namespace hlokit
