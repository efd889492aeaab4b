#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

void Swiglu(View gate_up, View h) {
  const std::int64_t cols = h.cols;
  for (std::int64_t row = 0; row < h.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    float* out = h.f32() + row * h.stride;
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto g = hn::LoadU(d, gate + i);
      const auto silu = hn::Mul(g, sigmoid_lanes(d, g));
      hn::StoreU(hn::Mul(silu, hn::LoadU(d, up + i)), d, out + i);
    });
  }
}

// silu'(g) = s (1 + g (1 - s)) with s = sigmoid(g). Both inputs are read before either output is
// written, so the gradient may replace gate_up.
void SwigluBackward(View gate_up, View dh, View dgate_up) {
  const std::int64_t cols = dh.cols;
  for (std::int64_t row = 0; row < dh.rows; ++row) {
    const float* gate = gate_up.f32() + row * gate_up.stride;
    const float* up = gate + cols;
    const float* grad = dh.f32() + row * dh.stride;
    float* dgate = dgate_up.f32() + row * dgate_up.stride;
    float* dup = dgate + cols;
    for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto one = hn::Set(d, 1.0F);
      const auto g = hn::LoadU(d, gate + i);
      const auto u = hn::LoadU(d, up + i);
      const auto dy = hn::LoadU(d, grad + i);
      const auto s = sigmoid_lanes(d, g);
      const auto slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
      hn::StoreU(hn::Mul(hn::Mul(dy, u), slope), d, dgate + i);
      hn::StoreU(hn::Mul(dy, hn::Mul(g, s)), d, dup + i);
    });
  }
}

void Rope(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
          bool inverse) {
  const std::int64_t half = heads.width / 2;
  const float sign = inverse ? -1.0F : 1.0F;
  for (std::int64_t row = 0; row < qkv.rows; ++row) {
    const float* cosines = table.f32() + position * table.stride;
    const float* sines = cosines + half;
    float* first = qkv.f32() + row * qkv.stride;
    for (std::int64_t head = 0; head < heads.query + heads.key_value; ++head) {
      float* low = first + head * heads.width;
      float* high = low + half;
      for_lanes(half, [=](auto d, std::int64_t i) HWY_ATTR {
        const auto c = hn::LoadU(d, cosines + i);
        const auto s = hn::Mul(hn::LoadU(d, sines + i), hn::Set(d, sign));
        const auto a = hn::LoadU(d, low + i);
        const auto b = hn::LoadU(d, high + i);
        hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, low + i);
        hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, high + i);
      });
    }
    position = position + 1 == length ? 0 : position + 1;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(Swiglu);
HWY_EXPORT(SwigluBackward);
HWY_EXPORT(Rope);

void swiglu_rows(View gate_up, View h) {
  HWY_DYNAMIC_DISPATCH(Swiglu)(gate_up, h);
}

void swiglu_backward_rows(View gate_up, View dh, View dgate_up) {
  HWY_DYNAMIC_DISPATCH(SwigluBackward)(gate_up, dh, dgate_up);
}

void rope_rows(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
               bool inverse) {
  HWY_DYNAMIC_DISPATCH(Rope)(qkv, heads, position, length, table, inverse);
}

}  // namespace tunebench::engine::cpu
#endif
