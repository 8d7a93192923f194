// batch-norm-training, -inference and -grad: computed in double, rounded once.
#include <cmath>

#include "src/eval/handlers.h"
#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

std::vector<double> Doubles(const ArrayView& in) {
  std::vector<double> out(static_cast<size_t>(in.count));
  ConvertElements(in.type, in.data, ElementType::kF64, out.data(), in.count);
  return out;
}

void Store(const std::vector<double>& values, const ArrayView& out) {
  ConvertElements(ElementType::kF64, values.data(), out.type, out.data, out.count);
}

/// Calls f(element, feature) for every element in row-major order.
template <typename F>
void ForEach(const ArrayView& array, int64_t feature_dimension, F f) {
  int64_t inner = 1;
  for (int64_t d = feature_dimension + 1; d < array.rank(); ++d) inner *= array.sizes[d];
  const int64_t features = array.sizes[feature_dimension];
  for (int64_t i = 0; i < array.count; ++i) {
    f(static_cast<size_t>(i), static_cast<size_t>(i / inner % features));
  }
}

struct Setting {
  int64_t dimension = 0;
  size_t features = 0;
  double epsilon = 0, per_feature = 0;
};

Result<Setting> SettingOf(OpContext& c) {
  Setting s;
  s.dimension = c.integer(AttrKind::kFeatureIndex);
  if (s.dimension < 0 || s.dimension >= c.in[0].rank())
    return c.Refuse("feature_index is out of range");
  s.features = static_cast<size_t>(c.in[0].sizes[s.dimension]);
  s.epsilon = c.module.FloatAttr(c.id, AttrKind::kEpsilon);
  s.per_feature =
      s.features == 0 ? 0 : static_cast<double>(c.in[0].count) / static_cast<double>(s.features);
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!IsFloating(c.in[i].type)) return c.Refuse("needs floats");
    const bool full = c.in[i].count == c.in[0].count && c.in[i].rank() == c.in[0].rank();
    if (!full && c.in[i].count != static_cast<int64_t>(s.features))
      return c.Refuse("the sizes do not fit");
  }
  TRY(c.engine.AddWork(c.id, 4 * c.in[0].count));
  return s;
}

}  // namespace

Status BatchNormInference(OpContext& c) {
  ASSIGN_OR_RETURN(const Setting s, SettingOf(c));
  std::vector<double> x = Doubles(c.in[0]);
  const std::vector<double> scale = Doubles(c.in[1]), offset = Doubles(c.in[2]),
                            mean = Doubles(c.in[3]), variance = Doubles(c.in[4]);
  ForEach(c.in[0], s.dimension, [&](size_t i, size_t f) {
    x[i] = (x[i] - mean[f]) / std::sqrt(variance[f] + s.epsilon) * scale[f] + offset[f];
  });
  Store(x, c.out[0]);
  return {};
}

Status BatchNormTraining(OpContext& c) {
  ASSIGN_OR_RETURN(const Setting s, SettingOf(c));
  std::vector<double> x = Doubles(c.in[0]);
  const std::vector<double> scale = Doubles(c.in[1]), offset = Doubles(c.in[2]);
  std::vector<double> mean(s.features), variance(s.features);
  ForEach(c.in[0], s.dimension, [&](size_t i, size_t f) { mean[f] += x[i]; });
  for (double& value : mean) value /= s.per_feature;
  ForEach(c.in[0], s.dimension,
          [&](size_t i, size_t f) { variance[f] += (x[i] - mean[f]) * (x[i] - mean[f]); });
  for (double& value : variance) value /= s.per_feature;
  ForEach(c.in[0], s.dimension, [&](size_t i, size_t f) {
    x[i] = (x[i] - mean[f]) / std::sqrt(variance[f] + s.epsilon) * scale[f] + offset[f];
  });
  Store(x, c.out[0]);
  Store(mean, c.out[1]);
  Store(variance, c.out[2]);
  return {};
}

Status BatchNormGrad(OpContext& c) {
  ASSIGN_OR_RETURN(const Setting s, SettingOf(c));
  const std::vector<double> x = Doubles(c.in[0]), scale = Doubles(c.in[1]), mean = Doubles(c.in[2]),
                            variance = Doubles(c.in[3]);
  std::vector<double> gradient = Doubles(c.in[4]);
  std::vector<double> sum(s.features), moment(s.features), grad_scale(s.features);
  ForEach(c.in[0], s.dimension, [&](size_t i, size_t f) {
    sum[f] += gradient[i];
    moment[f] += gradient[i] * (x[i] - mean[f]);
  });
  for (size_t f = 0; f < s.features; ++f) {
    grad_scale[f] = moment[f] / std::sqrt(variance[f] + s.epsilon);
  }
  ForEach(c.in[0], s.dimension, [&](size_t i, size_t f) {
    const double inverse = 1 / std::sqrt(variance[f] + s.epsilon);
    gradient[i] =
        scale[f] * inverse / s.per_feature *
        (s.per_feature * gradient[i] - sum[f] - (x[i] - mean[f]) * inverse * inverse * moment[f]);
  });
  Store(gradient, c.out[0]);
  Store(grad_scale, c.out[1]);
  Store(sum, c.out[2]);
  return {};
}

}  // namespace hlokit::eval
