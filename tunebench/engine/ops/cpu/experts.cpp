#include <cmath>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/experts.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

void Softmax(View x) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    float* values = x.f32() + row * x.stride;
    const float top = max_lanes(
        x.cols, [=](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, values + i); });
    const float total = sum_lanes(x.cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto value = exp_lanes(d, hn::Sub(hn::LoadU(d, values + i), hn::Set(d, top)));
      hn::StoreU(value, d, values + i);
      return hn::Add(sum, value);
    });
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Div(hn::LoadU(d, values + i), hn::Set(d, total)), d, values + i);
    });
  }
}

/// What one token's choice says of the gradient: of each weight less `mean`, over `sum`.
struct Chosen {
  float mean = 0.0F;
  float sum = 1.0F;
};

Chosen chosen_of(const float* dweights, const float* p, const std::int32_t* experts,
                 const std::int32_t* places, std::int64_t count) {
  Chosen chosen{.mean = 0.0F, .sum = 0.0F};
  for (std::int64_t j = 0; j < count; ++j) {
    chosen.sum += p[experts[j]];
    chosen.mean += p[experts[j]] * dweights[places[j]];
  }
  chosen.mean /= chosen.sum;
  return chosen;
}

// The gradient by the probabilities is the pull, and more at the chosen experts, so it is never
// written out: dlogits = p * (gradient - <p, gradient>).
void RouterBackward(View dweights, View probabilities, const Visits& visits, bool renormalise,
                    const RouterPull& pull, std::int64_t token, View dlogits) {
  const std::int64_t cols = probabilities.cols;
  const std::int64_t count = visits.experts.cols;
  for (std::int64_t row = 0; row < probabilities.rows; ++row) {
    const float* p = probabilities.f32() + row * probabilities.stride;
    float* out = dlogits.f32() + row * dlogits.stride;
    const std::int32_t* experts = visits.experts.i32() + (token + row) * visits.experts.stride;
    const std::int32_t* places = visits.places.i32() + (token + row) * visits.places.stride;
    const Chosen chosen =
        renormalise ? chosen_of(dweights.f32(), p, experts, places, count) : Chosen();
    const auto own = [&](std::int64_t j) {
      return (dweights.f32()[places[j]] - chosen.mean) / chosen.sum;
    };
    float inner = 0.0F;
    for (std::int64_t j = 0; j < count; ++j) {
      inner += p[experts[j]] * own(j);
    }
    if (!pull.gradient.empty() && pull.real.contains(token + row)) {
      const float* pulled = pull.gradient.f32();
      inner += sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
        return hn::MulAdd(hn::LoadU(d, p + i), hn::LoadU(d, pulled + i), sum);
      });
      for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
        const auto above = hn::Sub(hn::LoadU(d, pulled + i), hn::Set(d, inner));
        hn::StoreU(hn::Mul(hn::LoadU(d, p + i), above), d, out + i);
      });
    } else {
      for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::LoadU(d, p + i), hn::Set(d, -inner)), d, out + i);
      });
    }
    for (std::int64_t j = 0; j < count; ++j) {
      out[experts[j]] += p[experts[j]] * own(j);
    }
  }
}

void SumVisits(View in, View places, View out, bool accumulate) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    float* sum = out.f32() + row * out.stride;
    const std::int32_t* where = places.i32() + row * places.stride;
    const float* const data = in.f32();
    const std::int64_t stride = in.stride;
    const std::int64_t count = places.cols;
    for_lanes(out.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      auto total = hn::LoadU(d, data + where[0] * stride + i);
      for (std::int64_t j = 1; j < count; ++j) {
        total = hn::Add(total, hn::LoadU(d, data + where[j] * stride + i));
      }
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, sum + i), total) : total, d, sum + i);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(Softmax);
HWY_EXPORT(RouterBackward);
HWY_EXPORT(SumVisits);

void softmax_rows(View x) {
  HWY_DYNAMIC_DISPATCH(Softmax)(x);
}

void router_backward_rows(View dweights, View probabilities, const Visits& visits, bool renormalise,
                          const RouterPull& pull, std::int64_t token, View dlogits) {
  HWY_DYNAMIC_DISPATCH(RouterBackward)
  (dweights, probabilities, visits, renormalise, pull, token, dlogits);
}

void sum_visit_rows(View in, View places, View out, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(SumVisits)(in, places, out, accumulate);
}

}  // namespace tunebench::engine::cpu
#endif
