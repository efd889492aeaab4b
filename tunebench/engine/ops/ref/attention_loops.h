#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/ops/ref/loops.h"

// Attention as its formula reads.
namespace tunebench::engine::ref {

/// The score of a pair as the softmax sees it, and its slope with respect to the product.
struct BentScore {
  double value;
  double slope;
};

inline BentScore bent_score(const Scoring& scoring, double slope, double product,
                            std::int64_t distance) {
  const double scaled = product * scoring.scale;
  const double away = -slope * static_cast<double>(distance);
  if (scoring.cap == 0.0) {
    return {scaled + away, scoring.scale};
  }
  const double bent = std::tanh(scaled / scoring.cap);
  return {scoring.cap * bent + away, scoring.scale * (1.0 - bent * bent)};
}

inline double slope_of(const Scoring& scoring, std::int64_t head, const Heads& heads) {
  return scoring.alibi ? alibi_slope(head, heads.query) : 0.0;
}

/// The first position that the one at `place` of its sequence sees.
inline std::int64_t first_seen(const Scoring& scoring, std::int64_t place) {
  return scoring.window == 0 ? 0 : std::max<std::int64_t>(0, place - scoring.window + 1);
}

/// query of token t times key of token k, unscaled.
template <typename T>
double product(const View& qkv, const Heads& heads, std::int64_t head, std::int64_t t,
               std::int64_t k) {
  return dot(row<T>(qkv, t) + heads.query_col(head), row<T>(qkv, k) + heads.key_col(head),
             heads.width);
}
template <typename T>
void attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring, View out,
               View lse) {
  TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()));
  TB_DCHECK(has_shape(out, sequences.tokens(), heads.query_cols()));
  TB_DCHECK(has_shape(lse, heads.query, sequences.tokens()));
  std::vector<double> weights(static_cast<std::size_t>(sequences.length));
  for (std::int64_t head = 0; head < heads.query; ++head) {
    const double slope = slope_of(scoring, head, heads);
    for (std::int64_t t = 0; t < sequences.tokens(); ++t) {
      const std::int64_t place = t % sequences.length;
      const std::int64_t begin = t - place + first_seen(scoring, place);
      const auto keys = static_cast<std::size_t>(t - begin + 1);
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < keys; ++k) {
        const std::int64_t key = begin + std::int64_t(k);
        weights[k] =
            bent_score(scoring, slope, product<T>(qkv, heads, head, t, key), t - key).value;
        largest = std::max(largest, weights[k]);
      }
      double total = 0;
      for (std::size_t k = 0; k < keys; ++k) {
        weights[k] = std::exp(weights[k] - largest);
        total += weights[k];
      }
      row<T>(lse, head)[t] = static_cast<T>(largest + std::log(total));
      for (std::int64_t i = 0; i < heads.width; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < keys; ++k) {
          sum +=
              weights[k] * double{row<T>(qkv, begin + std::int64_t(k))[heads.value_col(head) + i]};
        }
        row<T>(out, t)[head * heads.width + i] = static_cast<T>(sum / total);
      }
    }
  }
}

template <typename T>
void attention_backward(View dout, View qkv, View out, View lse, Heads heads, Sequences sequences,
                        const Scoring& scoring, View dqkv) {
  TB_DCHECK(same_shape(qkv, dqkv) && same_shape(out, dout) && qkv.data != dqkv.data);
  const std::int64_t cols = heads.fused_cols();
  std::vector<double> sums(static_cast<std::size_t>(sequences.length * cols));
  for (std::int64_t begin = 0; begin < sequences.tokens(); begin += sequences.length) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t head = 0; head < heads.query; ++head) {
      const double slope = slope_of(scoring, head, heads);
      for (std::int64_t t = begin; t < begin + sequences.length; ++t) {
        const T* const dout_row = row<T>(dout, t) + head * heads.width;
        const double delta = dot(dout_row, row<T>(out, t) + head * heads.width, heads.width);
        double* const dquery = sums.data() + (t - begin) * cols + heads.query_col(head);
        for (std::int64_t k = begin + first_seen(scoring, t - begin); k <= t; ++k) {
          const BentScore score =
              bent_score(scoring, slope, product<T>(qkv, heads, head, t, k), t - k);
          const double weight = std::exp(score.value - double{row<T>(lse, head)[t]});
          const double dweight = dot(dout_row, row<T>(qkv, k) + heads.value_col(head), heads.width);
          const double dscore = weight * (dweight - delta) * score.slope;
          double* const dkey = sums.data() + (k - begin) * cols + heads.key_col(head);
          double* const dvalue = sums.data() + (k - begin) * cols + heads.value_col(head);
          for (std::int64_t i = 0; i < heads.width; ++i) {
            dquery[i] += dscore * double{row<T>(qkv, k)[heads.key_col(head) + i]};
            dkey[i] += dscore * double{row<T>(qkv, t)[heads.query_col(head) + i]};
            dvalue[i] += weight * double{dout_row[i]};
          }
        }
      }
    }
    for (std::int64_t t = 0; t < sequences.length; ++t) {
      for (std::int64_t j = 0; j < cols; ++j) {
        row<T>(dqkv, begin + t)[j] = static_cast<T>(sums[static_cast<std::size_t>(t * cols + j)]);
      }
    }
  }
}

}  // namespace tunebench::engine::ref
