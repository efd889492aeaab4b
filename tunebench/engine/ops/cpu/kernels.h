#pragma once

#include <cstdint>
#include <string>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/ops/ops.h"

/// The single-threaded kernels behind the cpu backend: each works on the rows it is given and is
/// compiled for several instruction sets, chosen when the program runs. All data is float32.
namespace tunebench::engine::cpu {

/// "avx512", "avx2" or "scalar": what the kernels below run as.
std::string isa_name();

// --- norm.cpp ---------------------------------------------------------------------------------
/// rstd is [1, x.rows].
void rms_norm_rows(View x, NormWeight weight, float epsilon, View y, View rstd);
void add_rms_norm_rows(View x, View delta, NormWeight weight, float epsilon, View sum, View y,
                       View rstd);
/// dweight_part is [1, cols] and is overwritten with the sum over these rows; empty: skipped.
void rms_norm_backward_rows(View dy, View x, NormWeight weight, View rstd, View dx,
                            View dweight_part);
/// rstd is [x.rows, heads].
void head_norm_rows(View x, NormWeight weight, float epsilon, View y, View rstd);
/// dweight_part as above, one head wide.
void head_norm_backward_rows(View dy, View x, NormWeight weight, View rstd, View dx,
                             View dweight_part);

// --- layer_norm.cpp ---------------------------------------------------------------------------
/// The weight and bias of a layer norm, one row each.
struct LayerWeights {
  View weight;
  View bias;
};
/// stats is [2, x.rows].
void layer_norm_rows(View x, const LayerWeights& weights, float epsilon, View y, View stats);
void add_layer_norm_rows(View x, View delta, const LayerWeights& weights, float epsilon, View sum,
                         View y, View stats);
/// parts are [1, cols] and are overwritten with the sums over these rows; empty: skipped.
void layer_norm_backward_rows(View dy, View x, View weight, View stats, View dx,
                              const LayerWeights& parts);

// --- elementwise.cpp --------------------------------------------------------------------------
void fill_rows(View x, float value);
void copy_rows(View from, View to);
void add_rows(View x, View y);
void add_bias_rows(View bias, View y);
/// dbias[c] (+)= sum over rows of dy[:, c].
void column_sums(View dy, View dbias, bool accumulate);
double sum_squares_rows(View x);
/// y = factor * x.
void scaled_rows(float factor, View x, View y);
/// y = cap tanh(x / cap).
void soft_cap_rows(float cap, View x, View y);
void soft_cap_backward_rows(float cap, View y, View dy, View dx);
/// y = 1 / (1 + e^-x).
void sigmoid_rows(View x, View y);
void sigmoid_backward_rows(View y, View dy, View dx);
/// y *= factors[row].
void scale_rows(View y, const float* factors);
/// out[row] = sum of a[row] * b[row].
void dot_rows(View a, View b, float* out);

// --- dropout.cpp ------------------------------------------------------------------------------
void dropout_rows(const Dropout& which, View x, View y, bool accumulate);

// --- activation.cpp ---------------------------------------------------------------------------
void gated_rows(Activation activation, View gate_up, View h);
void gated_backward_rows(Activation activation, View gate_up, View dh, View dgate_up);
void activate_rows(Activation activation, View x, View y);
void activate_backward_rows(Activation activation, View x, View dy, View dx);

/// weights is [1, h.rows].
void weighted_gated_rows(Activation activation, View gate_up, View weights, View h);
/// dweights is [1, dh.rows].
void weighted_gated_backward_rows(Activation activation, View gate_up, View weights, View dh,
                                  View dgate_up, View dweights);

// --- experts.cpp ------------------------------------------------------------------------------
/// Each row becomes its softmax.
void softmax_rows(View x);
/// Of the tokens that these rows of probabilities and dlogits belong to, the first being `token`.
void router_backward_rows(View dweights, View probabilities, const Visits& visits, bool renormalise,
                          const RouterPull& pull, std::int64_t token, View dlogits);
/// out[t] (+)= sum of in over the visits of row t of places (I32).
void sum_visit_rows(View in, View places, View out, bool accumulate);

// --- rope.cpp ---------------------------------------------------------------------------------
/// `position` is the position of the first row; rows follow each other and start again at 0 after
/// `length`.
void rope_rows(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
               bool inverse);

// --- softmax.cpp ------------------------------------------------------------------------------
/// Overwrites logits with gradient_scale * (softmax - one_hot(label)); returns the summed loss.
double cross_entropy_rows(View logits, const std::int32_t* labels, float gradient_scale);

/// One tile of causal scores: row r may see columns [0, first_visible + r], all of them when that
/// is beyond the tile, and with a window only the last `window` of those. What a pair scores: the
/// product s of query and key times scale; cap tanh(s / cap) of it if there is a cap; less `slope`
/// for each position of distance.
struct ScoreTile {
  View scores;  ///< [rows, cols]
  std::int64_t first_visible = 0;
  float scale = 1.0F;
  std::int64_t window = 0;  ///< 0: none
  float cap = 0.0F;         ///< 0: none
  float slope = 0.0F;
  [[nodiscard]] bool bent() const { return cap != 0.0F || slope != 0.0F; }
};
/// scores become e^(score - new max), 0 where not visible. maxima and sums are the running
/// softmax state of each row; factors receives what earlier output must be multiplied with.
void softmax_tile(const ScoreTile& tile, float* maxima, float* sums, float* factors);
/// scores become probabilities from the kept log denominators, dscores (gradient of the
/// probabilities) becomes the gradient of the products: p * (dp - delta[row]) times the slope of
/// the score.
void softmax_backward_tile(const ScoreTile& tile, View dscores, const float* lse,
                           const float* delta);

// --- optimizer.cpp ----------------------------------------------------------------------------
void adamw_rows(View parameters, View gradients, View first_moment, View second_moment,
                const AdamwStep& step);

}  // namespace tunebench::engine::cpu
