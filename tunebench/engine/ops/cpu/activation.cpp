#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

/// Each activation: value(d, x), and both value and slope at x, which share their exponential.
template <class V>
struct Activated {
  V value;
  V slope;
};

struct Silu {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR V value(D d, V x) const {
    return hn::Mul(x, sigmoid_lanes(d, x));
  }
  // s (1 + x (1 - s)) with s = sigmoid(x).
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR Activated<V> both(D d, V x) const {
    const V one = hn::Set(d, 1.0F);
    const V s = sigmoid_lanes(d, x);
    return {hn::Mul(x, s), hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one))};
  }
};

// 0.5 (1 + tanh u) = sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3).
struct GeluTanh {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR V doubled(D d, V x) const {
    const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.07135481F), hn::Set(d, 1.59576912F));
    return hn::Mul(x, cubic);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR V value(D d, V x) const {
    return hn::Mul(x, sigmoid_lanes(d, doubled(d, x)));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR Activated<V> both(D d, V x) const {
    const V s = sigmoid_lanes(d, doubled(d, x));
    const V value = hn::Mul(x, s);
    const V inner = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.21406444F), hn::Set(d, 1.59576912F));
    const V bent = hn::Mul(value, hn::Sub(hn::Set(d, 1.0F), s));
    return {value, hn::MulAdd(bent, inner, s)};
  }
};

struct Gelu {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR V value(D d, V x) const {
    return hn::Mul(x, normal_share_lanes(d, x).share);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE HWY_ATTR Activated<V> both(D d, V x) const {
    const auto normal = normal_share_lanes(d, x);
    return {hn::Mul(x, normal.share), hn::MulAdd(x, normal.density, normal.share)};
  }
};

template <class Function>
void gated_with(Function function, View gate_up, View h) {
  const std::int64_t cols = h.cols;
  for (std::int64_t row = 0; row < h.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    float* out = h.f32() + row * h.stride;
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto value = function.value(d, hn::LoadU(d, gate + i));
      hn::StoreU(hn::Mul(value, hn::LoadU(d, up + i)), d, out + i);
    });
  }
}

// Both inputs are read before either output is written, so the gradient may replace gate_up.
template <class Function>
void gated_backward_with(Function function, View gate_up, View dh, View dgate_up) {
  const std::int64_t cols = dh.cols;
  for (std::int64_t row = 0; row < dh.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    const float* grad = dh.f32() + row * dh.stride;
    float* dgate = dgate_up.f32() + row * dgate_up.stride;
    float* dup = dgate + cols;
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto u = hn::LoadU(d, up + i);
      const auto dy = hn::LoadU(d, grad + i);
      const auto g = function.both(d, hn::LoadU(d, gate + i));
      hn::StoreU(hn::Mul(hn::Mul(dy, u), g.slope), d, dgate + i);
      hn::StoreU(hn::Mul(dy, g.value), d, dup + i);
    });
  }
}

template <class Function>
void weighted_gated_with(Function function, View gate_up, View weights, View h) {
  const std::int64_t cols = h.cols;
  for (std::int64_t row = 0; row < h.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    float* out = h.f32() + row * h.stride;
    const float weight = weights.f32()[row];
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto value = hn::Mul(function.value(d, hn::LoadU(d, gate + i)), hn::LoadU(d, up + i));
      hn::StoreU(hn::Mul(value, hn::Set(d, weight)), d, out + i);
    });
  }
}

// Both inputs are read before either output is written, as above.
template <class Function>
void weighted_gated_backward_with(Function function, View gate_up, View weights, View dh,
                                  View dgate_up, View dweights) {
  const std::int64_t cols = dh.cols;
  for (std::int64_t row = 0; row < dh.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    const float* grad = dh.f32() + row * dh.stride;
    float* dgate = dgate_up.f32() + row * dgate_up.stride;
    float* dup = dgate + cols;
    const float weight = weights.f32()[row];
    dweights.f32()[row] = sum_lanes(cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      const auto u = hn::LoadU(d, up + i);
      const auto dy = hn::LoadU(d, grad + i);
      const auto g = function.both(d, hn::LoadU(d, gate + i));
      const auto weighted = hn::Mul(dy, hn::Set(d, weight));
      hn::StoreU(hn::Mul(hn::Mul(weighted, u), g.slope), d, dgate + i);
      hn::StoreU(hn::Mul(weighted, g.value), d, dup + i);
      return hn::MulAdd(hn::Mul(g.value, u), dy, sum);
    });
  }
}

template <class Function>
void activate_with(Function function, View x, View y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    float* out = y.f32() + row * y.stride;
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(function.value(d, hn::LoadU(d, in + i)), d, out + i);
    });
  }
}

template <class Function>
void activate_backward_with(Function function, View x, View dy, View dx) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    const float* grad = dy.f32() + row * dy.stride;
    float* out = dx.f32() + row * dx.stride;
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto slope = function.both(d, hn::LoadU(d, in + i)).slope;
      hn::StoreU(hn::Mul(hn::LoadU(d, grad + i), slope), d, out + i);
    });
  }
}

template <class Body>
void with_function(Activation activation, Body body) {
  switch (activation) {
    case Activation::Silu:
      return body(Silu());
    case Activation::GeluTanh:
      return body(GeluTanh());
    case Activation::Gelu:
      return body(Gelu());
  }
}

void Gated(Activation activation, View gate_up, View h) {
  with_function(activation, [&](auto function) { gated_with(function, gate_up, h); });
}

void GatedBackward(Activation activation, View gate_up, View dh, View dgate_up) {
  with_function(activation,
                [&](auto function) { gated_backward_with(function, gate_up, dh, dgate_up); });
}

void WeightedGated(Activation activation, View gate_up, View weights, View h) {
  with_function(activation,
                [&](auto function) { weighted_gated_with(function, gate_up, weights, h); });
}

void WeightedGatedBackward(Activation activation, View gate_up, View weights, View dh,
                           View dgate_up, View dweights) {
  with_function(activation, [&](auto function) {
    weighted_gated_backward_with(function, gate_up, weights, dh, dgate_up, dweights);
  });
}

void Activate(Activation activation, View x, View y) {
  with_function(activation, [&](auto function) { activate_with(function, x, y); });
}

void ActivateBackward(Activation activation, View x, View dy, View dx) {
  with_function(activation, [&](auto function) { activate_backward_with(function, x, dy, dx); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(Gated);
HWY_EXPORT(GatedBackward);
HWY_EXPORT(WeightedGated);
HWY_EXPORT(WeightedGatedBackward);
HWY_EXPORT(Activate);
HWY_EXPORT(ActivateBackward);

void gated_rows(Activation activation, View gate_up, View h) {
  HWY_DYNAMIC_DISPATCH(Gated)(activation, gate_up, h);
}

void gated_backward_rows(Activation activation, View gate_up, View dh, View dgate_up) {
  HWY_DYNAMIC_DISPATCH(GatedBackward)(activation, gate_up, dh, dgate_up);
}

void weighted_gated_rows(Activation activation, View gate_up, View weights, View h) {
  HWY_DYNAMIC_DISPATCH(WeightedGated)(activation, gate_up, weights, h);
}

void weighted_gated_backward_rows(Activation activation, View gate_up, View weights, View dh,
                                  View dgate_up, View dweights) {
  HWY_DYNAMIC_DISPATCH(WeightedGatedBackward)
  (activation, gate_up, weights, dh, dgate_up, dweights);
}

void activate_rows(Activation activation, View x, View y) {
  HWY_DYNAMIC_DISPATCH(Activate)(activation, x, y);
}

void activate_backward_rows(Activation activation, View x, View dy, View dx) {
  HWY_DYNAMIC_DISPATCH(ActivateBackward)(activation, x, dy, dx);
}

}  // namespace tunebench::engine::cpu
#endif
