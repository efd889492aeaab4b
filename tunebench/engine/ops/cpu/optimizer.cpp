#include <cmath>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

#ifndef TUNEBENCH_ENGINE_OPS_CPU_OPTIMIZER_ONCE_
#define TUNEBENCH_ENGINE_OPS_CPU_OPTIMIZER_ONCE_
namespace tunebench::engine::cpu {

/// AdamwStep in the form the loop needs; computed in double, rounded once.
struct AdamwFactors {
  float keep = 0;  ///< 1 - learning rate * weight decay
  float beta1 = 0;
  float beta2 = 0;
  float one_minus_beta1 = 0;
  float one_minus_beta2 = 0;
  float epsilon = 0;
  float rate = 0;          ///< learning rate / (1 - beta1^step)
  float inverse_root = 0;  ///< 1 / sqrt(1 - beta2^step)
  float gradient_scale = 0;
};

}  // namespace tunebench::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

void Adamw(View parameters, View gradients, View first_moment, View second_moment,
           const AdamwFactors& f) {
  for (std::int64_t row = 0; row < parameters.rows; ++row) {
    float* p = parameters.f32() + row * parameters.stride;
    const float* g = gradients.f32() + row * gradients.stride;
    float* m = first_moment.f32() + row * first_moment.stride;
    float* v = second_moment.f32() + row * second_moment.stride;
    for_lanes(parameters.cols, [=, &f](auto d, std::int64_t i) HWY_ATTR {
      const auto gradient = hn::Mul(hn::LoadU(d, g + i), hn::Set(d, f.gradient_scale));
      const auto m1 = hn::MulAdd(hn::LoadU(d, m + i), hn::Set(d, f.beta1),
                                 hn::Mul(gradient, hn::Set(d, f.one_minus_beta1)));
      const auto square = hn::Mul(hn::Mul(gradient, gradient), hn::Set(d, f.one_minus_beta2));
      const auto v1 = hn::MulAdd(hn::LoadU(d, v + i), hn::Set(d, f.beta2), square);
      const auto root = hn::MulAdd(hn::Sqrt(v1), hn::Set(d, f.inverse_root), hn::Set(d, f.epsilon));
      const auto step = hn::Div(hn::Mul(m1, hn::Set(d, f.rate)), root);
      hn::StoreU(hn::MulSub(hn::LoadU(d, p + i), hn::Set(d, f.keep), step), d, p + i);
      hn::StoreU(m1, d, m + i);
      hn::StoreU(v1, d, v + i);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(Adamw);

void adamw_rows(View parameters, View gradients, View first_moment, View second_moment,
                const AdamwStep& step) {
  const double steps = static_cast<double>(step.step);
  const AdamwFactors factors{
      .keep = static_cast<float>(1.0 - step.learning_rate * step.weight_decay),
      .beta1 = static_cast<float>(step.beta1),
      .beta2 = static_cast<float>(step.beta2),
      .one_minus_beta1 = static_cast<float>(1.0 - step.beta1),
      .one_minus_beta2 = static_cast<float>(1.0 - step.beta2),
      .epsilon = static_cast<float>(step.epsilon),
      .rate = static_cast<float>(step.learning_rate / (1.0 - std::pow(step.beta1, steps))),
      .inverse_root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(step.beta2, steps))),
      .gradient_scale = static_cast<float>(step.gradient_scale),
  };
  HWY_DYNAMIC_DISPATCH(Adamw)(parameters, gradients, first_moment, second_moment, factors);
}

}  // namespace tunebench::engine::cpu
#endif
