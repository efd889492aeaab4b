#include <cmath>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

/// What a row is multiplied with.
template <class D>
HWY_INLINE HWY_ATTR hn::Vec<D> factor_lanes(D d, const float* weight, float offset) {
  return hn::Add(hn::LoadU(d, weight), hn::Set(d, offset));
}

// The two norms share what follows the sum of squares, so that they give the same bits.
HWY_INLINE HWY_ATTR float finish_row(const float* x, const NormWeight& weights, std::int64_t cols,
                                     float squares, float epsilon, float* y) {
  const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(cols) + epsilon);
  const float* weight = weights.values.f32();
  const float offset = static_cast<float>(weights.offset);
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, rstd));
    hn::StoreU(hn::Mul(scaled, factor_lanes(d, weight + i, offset)), d, y + i);
  });
  return rstd;
}

HWY_INLINE HWY_ATTR float square_sum(const float* x, std::int64_t cols) {
  return sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
    const auto value = hn::LoadU(d, x + i);
    return hn::MulAdd(value, value, sum);
  });
}

/// dx = (add: +=) rstd * (g - x * rstd^2 * mean(g * x)) with g = dy * weight.
template <bool kAdd>
HWY_INLINE HWY_ATTR void backward_row(const float* dy, const float* x, const NormWeight& weights,
                                      std::int64_t cols, float rstd, float* dx) {
  const float* weight = weights.values.f32();
  const float offset = static_cast<float>(weights.offset);
  const float dot = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(d, dy + i), factor_lanes(d, weight + i, offset));
    return hn::MulAdd(g, hn::LoadU(d, x + i), sum);
  });
  const float pull = rstd * rstd * dot / static_cast<float>(cols);
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto value = hn::LoadU(d, x + i);
    const auto g = hn::Mul(hn::LoadU(d, dy + i), factor_lanes(d, weight + i, offset));
    const auto inner = hn::NegMulAdd(value, hn::Set(d, pull), g);
    const auto scale = hn::Set(d, rstd);
    hn::StoreU(kAdd ? hn::MulAdd(inner, scale, hn::LoadU(d, dx + i)) : hn::Mul(inner, scale), d,
               dx + i);
  });
}

/// dweight += dy * x * rstd.
HWY_INLINE HWY_ATTR void add_weight_gradient(const float* dy, const float* x, std::int64_t cols,
                                             float rstd, float* dweight) {
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, rstd));
    hn::StoreU(hn::MulAdd(scaled, hn::LoadU(d, dy + i), hn::LoadU(d, dweight + i)), d, dweight + i);
  });
}

HWY_INLINE HWY_ATTR void clear(const View& part) {
  if (!part.empty()) {
    float* out = part.f32();
    for_lanes(part.cols,
              [=](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(hn::Zero(d), d, out + i); });
  }
}

void RmsNorm(View x, const NormWeight& weight, float epsilon, View y, View rstd) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    rstd.f32()[row] =
        finish_row(in, weight, x.cols, square_sum(in, x.cols), epsilon, y.f32() + row * y.stride);
  }
}

void AddRmsNorm(View x, View delta, const NormWeight& weight, float epsilon, View sum_out, View y,
                View rstd) {
  const std::int64_t cols = x.cols;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* left = x.f32() + row * x.stride;
    const float* right = delta.f32() + row * delta.stride;
    float* out = sum_out.f32() + row * sum_out.stride;
    const float squares = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto value = hn::Add(hn::LoadU(d, left + i), hn::LoadU(d, right + i));
      hn::StoreU(value, d, out + i);
      return hn::MulAdd(value, value, sum);
    });
    rstd.f32()[row] = finish_row(out, weight, cols, squares, epsilon, y.f32() + row * y.stride);
  }
}

void RmsNormBackward(View dy, View x, const NormWeight& weight, View rstd, View dx,
                     View dweight_part) {
  clear(dweight_part);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float* grad = dy.f32() + row * dy.stride;
    const float r = rstd.f32()[row];
    backward_row<true>(grad, in, weight, x.cols, r, dx.f32() + row * dx.stride);
    if (!dweight_part.empty()) {
      add_weight_gradient(grad, in, x.cols, r, dweight_part.f32());
    }
  }
}

void HeadNorm(View x, const NormWeight& weight, float epsilon, View y, View rstd) {
  const std::int64_t width = weight.values.cols;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t head = 0; head < rstd.cols; ++head) {
      const float* in = x.f32() + row * x.stride + head * width;
      rstd.f32()[row * rstd.stride + head] =
          finish_row(in, weight, width, square_sum(in, width), epsilon,
                     y.f32() + row * y.stride + head * width);
    }
  }
}

void HeadNormBackward(View dy, View x, const NormWeight& weight, View rstd, View dx,
                      View dweight_part) {
  const std::int64_t width = weight.values.cols;
  clear(dweight_part);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t head = 0; head < rstd.cols; ++head) {
      const float* in = x.f32() + row * x.stride + head * width;
      const float* grad = dy.f32() + row * dy.stride + head * width;
      const float r = rstd.f32()[row * rstd.stride + head];
      // Before dx, which may be dy.
      if (!dweight_part.empty()) {
        add_weight_gradient(grad, in, width, r, dweight_part.f32());
      }
      backward_row<false>(grad, in, weight, width, r, dx.f32() + row * dx.stride + head * width);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(RmsNorm);
HWY_EXPORT(AddRmsNorm);
HWY_EXPORT(RmsNormBackward);
HWY_EXPORT(HeadNorm);
HWY_EXPORT(HeadNormBackward);

void rms_norm_rows(View x, NormWeight weight, float epsilon, View y, View rstd) {
  HWY_DYNAMIC_DISPATCH(RmsNorm)(x, weight, epsilon, y, rstd);
}

void add_rms_norm_rows(View x, View delta, NormWeight weight, float epsilon, View sum, View y,
                       View rstd) {
  HWY_DYNAMIC_DISPATCH(AddRmsNorm)(x, delta, weight, epsilon, sum, y, rstd);
}

void rms_norm_backward_rows(View dy, View x, NormWeight weight, View rstd, View dx,
                            View dweight_part) {
  HWY_DYNAMIC_DISPATCH(RmsNormBackward)(dy, x, weight, rstd, dx, dweight_part);
}

void head_norm_rows(View x, NormWeight weight, float epsilon, View y, View rstd) {
  HWY_DYNAMIC_DISPATCH(HeadNorm)(x, weight, epsilon, y, rstd);
}

void head_norm_backward_rows(View dy, View x, NormWeight weight, View rstd, View dx,
                             View dweight_part) {
  HWY_DYNAMIC_DISPATCH(HeadNormBackward)(dy, x, weight, rstd, dx, dweight_part);
}

}  // namespace tunebench::engine::cpu
#endif
