#include <cstring>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

std::int64_t TargetBits() {
  return HWY_TARGET;
}

void Fill(View x, float value) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    float* out = x.f32() + row * x.stride;
    for_lanes(x.cols,
              [=](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(hn::Set(d, value), d, out + i); });
  }
}

HWY_INLINE HWY_ATTR void add_row(const float* in, std::int64_t cols, float* out) {
  for_lanes(cols, [=](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::LoadU(d, in + i)), d, out + i);
  });
}

void AddRows(View x, View y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    add_row(x.f32() + row * x.stride, x.cols, y.f32() + row * y.stride);
  }
}

void AddBias(View bias, View y) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    add_row(bias.f32(), y.cols, y.f32() + row * y.stride);
  }
}

void ColumnSums(View dy, View dbias, bool accumulate) {
  float* out = dbias.f32();
  if (!accumulate) {
    Fill(dbias, 0.0F);
  }
  for (std::int64_t row = 0; row < dy.rows; ++row) {
    add_row(dy.f32() + row * dy.stride, dy.cols, out);
  }
}

double SumSquares(View x) {
  constexpr std::int64_t kBlock = 4096;
  double total = 0.0;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    for (std::int64_t begin = 0; begin < x.cols; begin += kBlock) {
      const float* block = in + begin;
      const std::int64_t count = x.cols - begin < kBlock ? x.cols - begin : kBlock;
      total += static_cast<double>(sum_lanes(count, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
        const auto value = hn::LoadU(d, block + i);
        return hn::MulAdd(value, value, sum);
      }));
    }
  }
  return total;
}

void Scaled(float factor, View x, View y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    float* out = y.f32() + row * y.stride;
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, in + i), hn::Set(d, factor)), d, out + i);
    });
  }
}

void SoftCap(float cap, View x, View y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    float* out = y.f32() + row * y.stride;
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto bent = tanh_lanes(d, hn::Div(hn::LoadU(d, in + i), hn::Set(d, cap)));
      hn::StoreU(hn::Mul(bent, hn::Set(d, cap)), d, out + i);
    });
  }
}

void SoftCapBackward(float cap, View y, View dy, View dx) {
  const float per_cap = 1.0F / cap;
  for (std::int64_t row = 0; row < y.rows; ++row) {
    const float* result = y.f32() + row * y.stride;
    const float* grad = dy.f32() + row * dy.stride;
    float* out = dx.f32() + row * dx.stride;
    for_lanes(y.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto bent = hn::Mul(hn::LoadU(d, result + i), hn::Set(d, per_cap));
      const auto slope = hn::NegMulAdd(bent, bent, hn::Set(d, 1.0F));
      hn::StoreU(hn::Mul(hn::LoadU(d, grad + i), slope), d, out + i);
    });
  }
}

void Sigmoid(View x, View y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* in = x.f32() + row * x.stride;
    float* out = y.f32() + row * y.stride;
    for_lanes(x.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(sigmoid_lanes(d, hn::LoadU(d, in + i)), d, out + i);
    });
  }
}

void SigmoidBackward(View y, View dy, View dx) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    const float* result = y.f32() + row * y.stride;
    const float* grad = dy.f32() + row * dy.stride;
    float* out = dx.f32() + row * dx.stride;
    for_lanes(y.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto share = hn::LoadU(d, result + i);
      const auto slope = hn::Mul(share, hn::Sub(hn::Set(d, 1.0F), share));
      hn::StoreU(hn::Mul(hn::LoadU(d, grad + i), slope), d, out + i);
    });
  }
}

void ScaleRows(View y, const float* factors) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    float* out = y.f32() + row * y.stride;
    const float factor = factors[row];
    for_lanes(y.cols, [=](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Set(d, factor)), d, out + i);
    });
  }
}

void DotRows(View a, View b, float* out) {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const float* left = a.f32() + row * a.stride;
    const float* right = b.f32() + row * b.stride;
    out[row] = sum_lanes(a.cols, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
      return hn::MulAdd(hn::LoadU(d, left + i), hn::LoadU(d, right + i), sum);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(TargetBits);
HWY_EXPORT(Fill);
HWY_EXPORT(AddRows);
HWY_EXPORT(AddBias);
HWY_EXPORT(ColumnSums);
HWY_EXPORT(SumSquares);
HWY_EXPORT(Scaled);
HWY_EXPORT(SoftCap);
HWY_EXPORT(SoftCapBackward);
HWY_EXPORT(Sigmoid);
HWY_EXPORT(SigmoidBackward);
HWY_EXPORT(ScaleRows);
HWY_EXPORT(DotRows);

std::string isa_name() {
  const std::int64_t target = HWY_DYNAMIC_DISPATCH(TargetBits)();
  if (target == HWY_AVX3) {
    return "avx512";
  }
  if (target == HWY_AVX2) {
    return "avx2";
  }
  return target == HWY_NEON ? "neon" : "scalar";
}

void fill_rows(View x, float value) {
  HWY_DYNAMIC_DISPATCH(Fill)(x, value);
}

void copy_rows(View from, View to) {
  const std::size_t bytes = static_cast<std::size_t>(from.cols) * sizeof(float);
  for (std::int64_t row = 0; row < from.rows && bytes > 0; ++row) {
    std::memcpy(to.f32() + row * to.stride, from.f32() + row * from.stride, bytes);
  }
}

void add_rows(View x, View y) {
  HWY_DYNAMIC_DISPATCH(AddRows)(x, y);
}

void add_bias_rows(View bias, View y) {
  HWY_DYNAMIC_DISPATCH(AddBias)(bias, y);
}

void column_sums(View dy, View dbias, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(ColumnSums)(dy, dbias, accumulate);
}

double sum_squares_rows(View x) {
  return HWY_DYNAMIC_DISPATCH(SumSquares)(x);
}

void scaled_rows(float factor, View x, View y) {
  HWY_DYNAMIC_DISPATCH(Scaled)(factor, x, y);
}

void soft_cap_rows(float cap, View x, View y) {
  HWY_DYNAMIC_DISPATCH(SoftCap)(cap, x, y);
}

void soft_cap_backward_rows(float cap, View y, View dy, View dx) {
  HWY_DYNAMIC_DISPATCH(SoftCapBackward)(cap, y, dy, dx);
}

void sigmoid_rows(View x, View y) {
  HWY_DYNAMIC_DISPATCH(Sigmoid)(x, y);
}

void sigmoid_backward_rows(View y, View dy, View dx) {
  HWY_DYNAMIC_DISPATCH(SigmoidBackward)(y, dy, dx);
}

void scale_rows(View y, const float* factors) {
  HWY_DYNAMIC_DISPATCH(ScaleRows)(y, factors);
}

void dot_rows(View a, View b, float* out) {
  HWY_DYNAMIC_DISPATCH(DotRows)(a, b, out);
}

}  // namespace tunebench::engine::cpu
#endif
