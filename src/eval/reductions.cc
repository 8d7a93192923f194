// reduce: in which order are elements combined, and when is the result rounded?
#include <algorithm>
#include <cstring>

#include "src/eval/function.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

struct ReducePlan {
  std::vector<int64_t> kept_sizes, kept_strides;        // of the input
  std::vector<int64_t> reduced_sizes, reduced_strides;  // of the input
};

ReducePlan PlanOf(const ArrayView& in, std::span<const int64_t> dimensions) {
  const std::vector<int64_t> strides = RowMajorStrides(in.sizes);
  ReducePlan plan;
  for (int64_t d = 0; d < in.rank(); ++d) {
    const bool reduced = std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
    (reduced ? plan.reduced_sizes : plan.kept_sizes).push_back(in.sizes[d]);
    (reduced ? plan.reduced_strides : plan.kept_strides).push_back(strides[d]);
  }
  return plan;
}

/// Calls step(offset of the reduced index in the input) in index order.
template <typename Step>
Status ForEachReduced(const ReducePlan& plan, Step step) {
  if (Product(plan.reduced_sizes) == 0) return {};
  std::vector<int64_t> index(plan.reduced_sizes.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * plan.reduced_strides[i];
    TRY(step(offset));
  } while (NextIndex(plan.reduced_sizes, index));
  return {};
}

/// A plain sum of real floats: added in double, rounded once.
Status SumFloats(OpContext& c, const ReducePlan& plan) {
  const ArrayView in = c.in[0], out = c.out[0];
  std::vector<double> values(static_cast<size_t>(in.count)), sums(static_cast<size_t>(out.count));
  TRY(c.engine.AddWork(c.id, in.count));
  ConvertElements(in.type, in.data, ElementType::kF64, values.data(), in.count);
  double start = 0;
  ConvertElements(c.in[1].type, c.in[1].data, ElementType::kF64, &start, 1);
  std::fill(sums.begin(), sums.end(), start);
  const bool all = plan.kept_sizes.empty();
  TRY(ForEachReduced(plan, [&](int64_t offset) -> Status {
    if (all) {
      sums[0] += values[static_cast<size_t>(offset)];
      return {};
    }
    const int64_t inner = plan.kept_sizes.back(), step = plan.kept_strides.back();
    const std::span<const int64_t> outer(plan.kept_sizes.data(), plan.kept_sizes.size() - 1);
    if (out.count == 0) return {};
    std::vector<int64_t> index(outer.size(), 0);
    double* sum = sums.data();
    do {
      int64_t at = offset;
      for (size_t i = 0; i < outer.size(); ++i) at += index[i] * plan.kept_strides[i];
      for (int64_t i = 0; i < inner; ++i) *sum++ += values[static_cast<size_t>(at + i * step)];
    } while (NextIndex(outer, index));
    return {};
  }));
  ConvertElements(ElementType::kF64, sums.data(), out.type, out.data, out.count);
  return {};
}

}  // namespace

Status Reduce(OpContext& c) {
  const size_t n = c.in.size() / 2;
  ASSIGN_OR_RETURN(Function function, MakeReducer(c));
  const ReducePlan plan = PlanOf(c.in[0], c.module.dimensions(c.id));
  if (n == 1 && function.plain_binary() == Opcode::kAdd && IsFloating(c.in[0].type)) {
    return SumFloats(c, plan);
  }
  const int64_t count = c.out[0].count;
  std::vector<std::vector<std::byte>> slices(n);
  std::vector<const std::byte*> arguments(2 * n);
  std::vector<std::byte*> results(n);
  for (size_t i = 0; i < n; ++i) {
    Fill(c.out[i], c.in[n + i].data);
    slices[i].resize(static_cast<size_t>(count * c.in[i].width()));
    results[i] = c.out[i].data;
    arguments[i] = c.out[i].data;
    arguments[n + i] = slices[i].data();
  }
  if (count == 0) return {};
  const std::vector<int64_t> dense = RowMajorStrides(plan.kept_sizes);
  return ForEachReduced(plan, [&](int64_t offset) -> Status {
    for (size_t i = 0; i < n; ++i) {
      MoveBox(c.in[i].width(), plan.kept_sizes, c.in[i].data + offset * c.in[i].width(),
              plan.kept_strides, slices[i].data(), dense);
    }
    return function.Apply(arguments, results, count);
  });
}

}  // namespace hlokit::eval
