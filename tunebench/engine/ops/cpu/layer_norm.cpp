#include <cmath>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

// The two norms share what follows the sum, so that they give the same bits. The variance is taken
// from the differences to the mean: rows far from zero keep their digits.
HWY_INLINE HWY_ATTR void finish_row(const float* x, const LayerWeights& weights, std::int64_t cols,
                                    float sum, float epsilon, float* y, float* mean_out,
                                    float* rstd_out) {
  const float width = static_cast<float>(cols);
  const float mean = sum / width;
  const float squares = sum_lanes(cols, [=](auto d, std::int64_t i, auto total) HWY_ATTR {
    const auto apart = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::MulAdd(apart, apart, total);
  });
  const float rstd = 1.0F / std::sqrt(squares / width + epsilon);
  const float* weight = weights.weight.f32();
  const float* bias = weights.bias.f32();
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto apart = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    const auto normal = hn::Mul(apart, hn::Set(d, rstd));
    hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, y + i);
  });
  *mean_out = mean;
  *rstd_out = rstd;
}

void LayerNorm(View x, const LayerWeights& weights, float epsilon, View y, View stats) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float sum = sum_lanes(x.cols, [=](auto d, std::int64_t i, auto total) HWY_ATTR {
      return hn::Add(total, hn::LoadU(d, in + i));
    });
    float* mean = stats.f32() + row;
    finish_row(in, weights, x.cols, sum, epsilon, y.f32() + row * y.stride, mean,
               mean + stats.stride);
  }
}

void AddLayerNorm(View x, View delta, const LayerWeights& weights, float epsilon, View sum_out,
                  View y, View stats) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* left = x.f32() + row * x.stride;
    const float* right = delta.f32() + row * delta.stride;
    float* out = sum_out.f32() + row * sum_out.stride;
    const float sum = sum_lanes(x.cols, [=](auto d, std::int64_t i, auto total) HWY_ATTR {
      const auto value = hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i));
      hn::StoreU(value, d, out + i);
      return hn::Add(total, value);
    });
    float* mean = stats.f32() + row;
    finish_row(out, weights, x.cols, sum, epsilon, y.f32() + row * y.stride, mean,
               mean + stats.stride);
  }
}

// With g = dy * weight and n the normalised row: dx += rstd * (g - mean(g) - n * mean(g * n)).
void LayerNormBackward(View dy, View x, View weight, View stats, View dx,
                       const LayerWeights& parts) {
  const std::int64_t cols = x.cols;
  const float* w = weight.f32();
  float* dw = parts.weight.empty() ? nullptr : parts.weight.f32();
  float* db = parts.bias.empty() ? nullptr : parts.bias.f32();
  if (dw != nullptr) {
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Zero(d), d, dw + i);
      hn::StoreU(hn::Zero(d), d, db + i);
    });
  }
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float* grad = dy.f32() + row * dy.stride;
    float* out = dx.f32() + row * dx.stride;
    const float mean = stats.f32()[row];
    const float rstd = stats.f32()[stats.stride + row];
    const float level = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      return hn::MulAdd(hn::LoadU(d, grad + i), hn::LoadU(d, w + i), sum);
    });
    const float dot = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto g = hn::Mul(hn::LoadU(d, grad + i), hn::LoadU(d, w + i));
      const auto apart = hn::Sub(hn::LoadU(d, in + i), hn::Set(d, mean));
      return hn::MulAdd(g, apart, sum);
    });
    const float width = static_cast<float>(cols);
    const float pull = rstd * rstd * dot / width;
    const float shift = level / width;
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto apart = hn::Sub(hn::LoadU(d, in + i), hn::Set(d, mean));
      const auto g = hn::MulSub(hn::LoadU(d, grad + i), hn::LoadU(d, w + i), hn::Set(d, shift));
      const auto inner = hn::NegMulAdd(apart, hn::Set(d, pull), g);
      hn::StoreU(hn::MulAdd(inner, hn::Set(d, rstd), hn::LoadU(d, out + i)), d, out + i);
    });
    if (dw != nullptr) {
      for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
        const auto apart = hn::Sub(hn::LoadU(d, in + i), hn::Set(d, mean));
        const auto normal = hn::Mul(apart, hn::Set(d, rstd));
        const auto dy_i = hn::LoadU(d, grad + i);
        hn::StoreU(hn::MulAdd(normal, dy_i, hn::LoadU(d, dw + i)), d, dw + i);
        hn::StoreU(hn::Add(dy_i, hn::LoadU(d, db + i)), d, db + i);
      });
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(LayerNorm);
HWY_EXPORT(AddLayerNorm);
HWY_EXPORT(LayerNormBackward);

void layer_norm_rows(View x, const LayerWeights& weights, float epsilon, View y, View stats) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(x, weights, epsilon, y, stats);
}

void add_layer_norm_rows(View x, View delta, const LayerWeights& weights, float epsilon, View sum,
                         View y, View stats) {
  HWY_DYNAMIC_DISPATCH(AddLayerNorm)(x, delta, weights, epsilon, sum, y, stats);
}

void layer_norm_backward_rows(View dy, View x, View weight, View stats, View dx,
                              const LayerWeights& parts) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackward)(dy, x, weight, stats, dx, parts);
}

}  // namespace tunebench::engine::cpu
#endif
