// reduce-window and select-and-scatter.
#include <algorithm>
#include <cstring>

#include "src/eval/function.h"
#include "src/eval/handlers.h"
#include "src/eval/strided.h"
#include "src/eval/window.h"

namespace hlokit::eval {
namespace {

/// Row-major offset of the element of `sizes` under a place of the window; -1 outside.
int64_t OffsetUnder(std::span<const WindowDimension> window, std::span<const int64_t> place,
                    std::span<const int64_t> inside, std::span<const int64_t> sizes) {
  int64_t offset = 0;
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t index = window[d].Index(place[d], inside[d], sizes[d]);
    if (index < 0) return -1;
    offset = offset * sizes[d] + index;
  }
  return offset;
}

std::vector<int64_t> WindowSizes(std::span<const WindowDimension> window) {
  std::vector<int64_t> sizes;
  for (const WindowDimension& d : window) sizes.push_back(d.size);
  return sizes;
}

void GatherElements(const ArrayView& array, std::span<const int64_t> offsets, std::byte* out) {
  WithElementWidth(array.width(), [&](auto width) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      std::memcpy(out + static_cast<int64_t>(i) * width, array.data + offsets[i] * width, width);
    }
  });
}

void ScatterElements(const ArrayView& array, std::span<const int64_t> offsets,
                     const std::byte* in) {
  WithElementWidth(array.width(), [&](auto width) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      std::memcpy(array.data + offsets[i] * width, in + static_cast<int64_t>(i) * width, width);
    }
  });
}

}  // namespace

Status ReduceWindow(OpContext& c) {
  const size_t n = c.in.size() / 2;
  ASSIGN_OR_RETURN(Function function, MakeReducer(c));
  for (size_t i = 0; i < n; ++i) {
    Fill(c.out[i], c.in[n + i].data);
  }
  if (c.out[0].count == 0) return {};
  const std::vector<WindowDimension> window =
      DecodeWindow(c.ints(AttrKind::kWindow), c.in[0].sizes.size());
  const std::vector<int64_t> window_sizes = WindowSizes(window);
  if (Product(window_sizes) == 0) return {};
  // All outputs take one step at a time, so that each sees its window in index order.
  std::vector<int64_t> inside(window.size(), 0), place(window.size(), 0);
  std::vector<int64_t> sources, targets;
  std::vector<std::vector<std::byte>> buffers(2 * n);
  std::vector<const std::byte*> arguments(2 * n);
  std::vector<std::byte*> results(n);
  do {
    sources.clear();
    targets.clear();
    std::fill(place.begin(), place.end(), 0);
    int64_t output = 0;
    do {
      const int64_t source = OffsetUnder(window, place, inside, c.in[0].sizes);
      if (source >= 0) {
        sources.push_back(source);
        targets.push_back(output);
      }
      ++output;
    } while (NextIndex(c.out[0].sizes, place));
    TRY(c.engine.AddWork(c.id, output));
    if (sources.empty()) continue;
    for (size_t i = 0; i < n; ++i) {
      buffers[i].resize(targets.size() * static_cast<size_t>(c.out[i].width()));
      buffers[n + i].resize(sources.size() * static_cast<size_t>(c.in[i].width()));
      GatherElements(c.out[i], targets, buffers[i].data());
      GatherElements(c.in[i], sources, buffers[n + i].data());
      results[i] = buffers[i].data();
      arguments[i] = buffers[i].data();
      arguments[n + i] = buffers[n + i].data();
    }
    TRY(function.Apply(arguments, results, static_cast<int64_t>(sources.size())));
    for (size_t i = 0; i < n; ++i) ScatterElements(c.out[i], targets, buffers[i].data());
  } while (NextIndex(window_sizes, inside));
  return {};
}

Status SelectAndScatter(OpContext& c) {
  const ArrayView operand = c.in[0], source = c.in[1], out = c.out[0];
  const std::span<const CompId> callees = c.module.called_computations(c.id);
  ASSIGN_OR_RETURN(Function select, Function::Make(c, callees[0]));
  ASSIGN_OR_RETURN(Function combine, Function::Make(c, callees[1]));
  const auto takes = [](const Function& f, ElementType type, ElementType result) {
    return f.parameters() == 2 && f.results() == 1 && f.parameter_type(0) == type &&
           f.parameter_type(1) == type && f.result_type(0) == result;
  };
  if (!takes(select, operand.type, ElementType::kPred) || !takes(combine, out.type, out.type) ||
      source.type != out.type || c.in[2].type != out.type) {
    return c.Refuse("the computations do not fit the operands");
  }
  Fill(out, c.in[2].data);
  const std::vector<WindowDimension> window =
      DecodeWindow(c.ints(AttrKind::kWindow), operand.sizes.size());
  const std::vector<int64_t> window_sizes = WindowSizes(window);
  if (source.count == 0 || Product(window_sizes) == 0) return {};
  std::vector<int64_t> place(window.size(), 0), inside(window.size(), 0);
  int64_t element = 0;
  do {
    int64_t chosen = -1;
    std::fill(inside.begin(), inside.end(), 0);
    do {
      const int64_t candidate = OffsetUnder(window, place, inside, operand.sizes);
      if (candidate < 0) continue;
      if (chosen >= 0) {
        const std::byte* pair[2] = {operand.data + chosen * operand.width(),
                                    operand.data + candidate * operand.width()};
        std::byte keep{};
        std::byte* result = &keep;
        TRY(select.Apply(pair, {&result, 1}, 1));
        if (keep != std::byte{0}) continue;
      }
      chosen = candidate;
    } while (NextIndex(window_sizes, inside));
    if (chosen >= 0) {
      std::byte* target = out.data + chosen * out.width();
      const std::byte* pair[2] = {target, source.data + element * source.width()};
      TRY(combine.Apply(pair, {&target, 1}, 1));
    }
    ++element;
  } while (NextIndex(source.sizes, place));
  return {};
}

}  // namespace hlokit::eval
