#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/rope.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

void Rope(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
          bool inverse) {
  const std::int64_t half = table.cols / 2;
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

HWY_EXPORT(Rope);

void rope_rows(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
               bool inverse) {
  HWY_DYNAMIC_DISPATCH(Rope)(qkv, heads, position, length, table, inverse);
}

}  // namespace tunebench::engine::cpu
#endif
