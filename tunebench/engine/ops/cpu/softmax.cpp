#include <cmath>

#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE HWY_ATTR void zero_range(float* out, std::int64_t count) {
  for_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(hn::Zero(d), d, out + i); });
}

/// x becomes e^(scale * x - shift); returns the sum.
HWY_INLINE HWY_ATTR float exp_range(float* x, std::int64_t count, float scale, float shift) {
  return sum_lanes(count, [=](auto d, std::int64_t i, auto sum) HWY_ATTR {
    const auto argument = hn::MulSub(hn::LoadU(d, x + i), hn::Set(d, scale), hn::Set(d, shift));
    const auto value = exp_lanes(d, argument);
    hn::StoreU(value, d, x + i);
    return hn::Add(sum, value);
  });
}

HWY_INLINE HWY_ATTR void scale_range(float* x, std::int64_t count, float factor) {
  for_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
  });
}

// Each block of a row is turned into e^(x - its own maximum) in the first pass, so the second pass
// only multiplies: one exponential per element and one read of the row from memory.
HWY_INLINE HWY_ATTR double cross_entropy_row(float* row, std::int64_t cols, std::int32_t label,
                                             float gradient_scale) {
  constexpr std::int64_t kMaxBlocks = 256;
  const std::int64_t least = (cols + kMaxBlocks - 1) / kMaxBlocks;
  const std::int64_t block = least > 1024 ? least : 1024;
  const float wanted = row[label];
  float maxima[kMaxBlocks];
  float sums[kMaxBlocks];
  float top = -HUGE_VALF;
  std::int64_t blocks = 0;
  for (std::int64_t begin = 0; begin < cols; begin += block, ++blocks) {
    const std::int64_t count = cols - begin < block ? cols - begin : block;
    float* part = row + begin;
    const float highest =
        max_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, part + i); });
    // A block of minus infinities has no maximum to subtract; its terms are 0.
    const float shift = highest == -HUGE_VALF ? 0.0F : highest;
    maxima[blocks] = highest;
    sums[blocks] = exp_range(part, count, 1.0F, shift);
    top = highest > top ? highest : top;
  }
  double total = 0.0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    total += static_cast<double>(sums[b]) *
             (maxima[b] == top ? 1.0 : std::exp(static_cast<double>(maxima[b] - top)));
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin = b * block;
    const std::int64_t count = cols - begin < block ? cols - begin : block;
    const double share = maxima[b] == top ? 1.0 : std::exp(static_cast<double>(maxima[b] - top));
    scale_range(row + begin, count,
                static_cast<float>(share / total * static_cast<double>(gradient_scale)));
  }
  row[label] -= gradient_scale;
  return std::log(total) + static_cast<double>(top) - static_cast<double>(wanted);
}

double CrossEntropy(View logits, const std::int32_t* labels, float gradient_scale) {
  double loss = 0.0;
  for (std::int64_t row = 0; row < logits.rows; ++row) {
    loss += cross_entropy_row(logits.f32() + row * logits.stride, logits.cols, labels[row],
                              gradient_scale);
  }
  return loss;
}

HWY_INLINE HWY_ATTR std::int64_t within(std::int64_t col, std::int64_t cols) {
  return col < 0 ? 0 : (col < cols ? col : cols);
}

/// Columns [begin, end) that a row sees.
struct VisibleCols {
  std::int64_t begin;
  std::int64_t end;
};

HWY_INLINE HWY_ATTR VisibleCols visible_cols(const ScoreTile& tile, std::int64_t row) {
  const std::int64_t end = tile.first_visible + row + 1;
  const std::int64_t cols = tile.scores.cols;
  return {tile.window == 0 ? 0 : within(end - tile.window, cols), within(end, cols)};
}

HWY_INLINE HWY_ATTR void zero_outside(float* x, std::int64_t cols, VisibleCols visible) {
  if (visible.begin > 0) {
    zero_range(x, visible.begin);
  }
  zero_range(x + visible.end, cols - visible.end);
}

/// What a tile whose scores are bent does to those of a row.
struct RowBend {
  float scale;
  float cap;    ///< 0: none
  float slope;  ///< per column
  float start;  ///< at column 0
};

HWY_INLINE HWY_ATTR RowBend bend_of(const ScoreTile& tile, std::int64_t row) {
  return {tile.scale, tile.cap, tile.slope,
          -tile.slope * static_cast<float>(tile.first_visible + row)};
}

/// The capped part of a score; the whole score is that plus bias_lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE HWY_ATTR V capped_lanes(D d, V product, const RowBend& bend) {
  const V scaled = hn::Mul(product, hn::Set(d, bend.scale));
  if (bend.cap == 0.0F) {
    return scaled;
  }
  return hn::Mul(hn::Set(d, bend.cap), tanh_lanes(d, hn::Div(scaled, hn::Set(d, bend.cap))));
}

template <class D>
HWY_INLINE HWY_ATTR hn::Vec<D> bias_lanes(D d, std::int64_t col, const RowBend& bend) {
  const auto place = hn::Iota(d, static_cast<float>(col));
  return hn::MulAdd(place, hn::Set(d, bend.slope), hn::Set(d, bend.start));
}

// Not inlined, here and below, so that the plain loops keep the registers to themselves.
HWY_NOINLINE HWY_ATTR void bend_row(float* scores, std::int64_t first, std::int64_t count,
                                    const RowBend& bend) {
  for_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto capped = capped_lanes(d, hn::LoadU(d, scores + i), bend);
    hn::StoreU(hn::Add(capped, bias_lanes(d, first + i, bend)), d, scores + i);
  });
}

void SoftmaxTile(const ScoreTile& given, float* maxima, float* sums, float* factors) {
  const ScoreTile tile = given;  // out of reach of the stores below
  const bool bent = tile.bent();
  for (std::int64_t row = 0; row < tile.scores.rows; ++row) {
    float* scores = tile.scores.f32() + row * tile.scores.stride;
    const VisibleCols visible = visible_cols(tile, row);
    const std::int64_t count = visible.end - visible.begin;
    zero_outside(scores, tile.scores.cols, visible);
    float* seen = scores + visible.begin;
    float scale = tile.scale;
    if (bent) {
      bend_row(seen, visible.begin, count, bend_of(tile, row));
      scale = 1.0F;
    }
    const float highest = max_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, seen + i), hn::Set(d, scale));
    });
    const float top = highest > maxima[row] ? highest : maxima[row];
    const float shift = top == -HUGE_VALF ? 0.0F : top;
    factors[row] = maxima[row] == top ? 1.0F : std::exp(maxima[row] - shift);
    sums[row] = sums[row] * factors[row] + exp_range(seen, count, scale, shift);
    maxima[row] = top;
  }
}

/// As in SoftmaxBackwardTile, where the slope of the score is not the scale alone.
HWY_NOINLINE HWY_ATTR void bent_backward_row(float* p, float* ds, std::int64_t first,
                                             std::int64_t count, const RowBend& bend, float log_sum,
                                             float row_delta) {
  const float per_cap = bend.cap == 0.0F ? 0.0F : 1.0F / bend.cap;
  for_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto capped = capped_lanes(d, hn::LoadU(d, p + i), bend);
    const auto score = hn::Add(capped, bias_lanes(d, first + i, bend));
    const auto probability = exp_lanes(d, hn::Sub(score, hn::Set(d, log_sum)));
    const auto share = hn::Mul(capped, hn::Set(d, per_cap));
    const auto steepness = hn::NegMulAdd(share, share, hn::Set(d, 1.0F));
    const auto centred = hn::Sub(hn::LoadU(d, ds + i), hn::Set(d, row_delta));
    hn::StoreU(probability, d, p + i);
    hn::StoreU(hn::Mul(hn::Mul(hn::Mul(probability, hn::Set(d, bend.scale)), steepness), centred),
               d, ds + i);
  });
}

void SoftmaxBackwardTile(const ScoreTile& given, View dscores, const float* lse,
                         const float* delta) {
  const ScoreTile tile = given;
  const bool bent = tile.bent();
  for (std::int64_t row = 0; row < tile.scores.rows; ++row) {
    const VisibleCols visible = visible_cols(tile, row);
    const std::int64_t count = visible.end - visible.begin;
    float* p = tile.scores.f32() + row * tile.scores.stride;
    float* ds = dscores.f32() + row * dscores.stride;
    zero_outside(p, tile.scores.cols, visible);
    zero_outside(ds, tile.scores.cols, visible);
    p += visible.begin;
    ds += visible.begin;
    const float log_sum = lse[row];
    const float row_delta = delta[row];
    const float scale = tile.scale;
    if (bent) {
      bent_backward_row(p, ds, visible.begin, count, bend_of(tile, row), log_sum, row_delta);
      continue;
    }
    for_lanes(count, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto argument = hn::MulSub(hn::LoadU(d, p + i), hn::Set(d, scale), hn::Set(d, log_sum));
      const auto probability = exp_lanes(d, argument);
      const auto centred = hn::Sub(hn::LoadU(d, ds + i), hn::Set(d, row_delta));
      hn::StoreU(probability, d, p + i);
      hn::StoreU(hn::Mul(hn::Mul(probability, hn::Set(d, scale)), centred), d, ds + i);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(CrossEntropy);
HWY_EXPORT(SoftmaxTile);
HWY_EXPORT(SoftmaxBackwardTile);

double cross_entropy_rows(View logits, const std::int32_t* labels, float gradient_scale) {
  return HWY_DYNAMIC_DISPATCH(CrossEntropy)(logits, labels, gradient_scale);
}

void softmax_tile(const ScoreTile& tile, float* maxima, float* sums, float* factors) {
  HWY_DYNAMIC_DISPATCH(SoftmaxTile)(tile, maxima, sums, factors);
}

void softmax_backward_tile(const ScoreTile& tile, View dscores, const float* lse,
                           const float* delta) {
  HWY_DYNAMIC_DISPATCH(SoftmaxBackwardTile)(tile, dscores, lse, delta);
}

}  // namespace tunebench::engine::cpu
#endif
