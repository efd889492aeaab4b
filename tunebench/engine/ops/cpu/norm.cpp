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

// The two norms share what follows the sum of squares, so that they give the same bits.
HWY_INLINE HWY_ATTR float finish_row(const float* x, const float* weight, std::int64_t cols,
                                     float squares, float epsilon, float* y) {
  const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(cols) + epsilon);
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, rstd));
    hn::StoreU(hn::Mul(scaled, hn::LoadU(d, weight + i)), d, y + i);
  });
  return rstd;
}

void RmsNorm(View x, View weight, float epsilon, View y, View rstd) {
  const std::int64_t cols = x.cols;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float squares = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto value = hn::LoadU(d, in + i);
      return hn::MulAdd(value, value, sum);
    });
    rstd.f32()[row] =
        finish_row(in, weight.f32(), cols, squares, epsilon, y.f32() + row * y.stride);
  }
}

void AddRmsNorm(View x, View delta, View weight, float epsilon, View sum_out, View y, View rstd) {
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
    rstd.f32()[row] =
        finish_row(out, weight.f32(), cols, squares, epsilon, y.f32() + row * y.stride);
  }
}

// With g = dy * weight: dx += rstd * (g - x * rstd^2 * mean(g * x)).
void RmsNormBackward(View dy, View x, View weight, View rstd, View dx, View dweight_part) {
  const std::int64_t cols = x.cols;
  const float* w = weight.f32();
  float* dw = dweight_part.empty() ? nullptr : dweight_part.f32();
  if (dw != nullptr) {
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(hn::Zero(d), d, dw + i); });
  }
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float* grad = dy.f32() + row * dy.stride;
    float* out = dx.f32() + row * dx.stride;
    const float r = rstd.f32()[row];
    const float dot = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto g = hn::Mul(hn::LoadU(d, grad + i), hn::LoadU(d, w + i));
      return hn::MulAdd(g, hn::LoadU(d, in + i), sum);
    });
    const float pull = r * r * dot / static_cast<float>(cols);
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto value = hn::LoadU(d, in + i);
      const auto g = hn::Mul(hn::LoadU(d, grad + i), hn::LoadU(d, w + i));
      const auto inner = hn::NegMulAdd(value, hn::Set(d, pull), g);
      hn::StoreU(hn::MulAdd(inner, hn::Set(d, r), hn::LoadU(d, out + i)), d, out + i);
    });
    if (dw != nullptr) {
      for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
        const auto scaled = hn::Mul(hn::LoadU(d, in + i), hn::Set(d, r));
        hn::StoreU(hn::MulAdd(scaled, hn::LoadU(d, grad + i), hn::LoadU(d, dw + i)), d, dw + i);
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

HWY_EXPORT(RmsNorm);
HWY_EXPORT(AddRmsNorm);
HWY_EXPORT(RmsNormBackward);

void rms_norm_rows(View x, View weight, float epsilon, View y, View rstd) {
  HWY_DYNAMIC_DISPATCH(RmsNorm)(x, weight, epsilon, y, rstd);
}

void add_rms_norm_rows(View x, View delta, View weight, float epsilon, View sum, View y,
                       View rstd) {
  HWY_DYNAMIC_DISPATCH(AddRmsNorm)(x, delta, weight, epsilon, sum, y, rstd);
}

void rms_norm_backward_rows(View dy, View x, View weight, View rstd, View dx, View dweight_part) {
  HWY_DYNAMIC_DISPATCH(RmsNormBackward)(dy, x, weight, rstd, dx, dweight_part);
}

}  // namespace tunebench::engine::cpu
#endif
