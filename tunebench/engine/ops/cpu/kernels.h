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
void rms_norm_rows(View x, View weight, float epsilon, View y, View rstd);
void add_rms_norm_rows(View x, View delta, View weight, float epsilon, View sum, View y, View rstd);
/// dweight_part is [1, cols] and is overwritten with the sum over these rows; empty: skipped.
void rms_norm_backward_rows(View dy, View x, View weight, View rstd, View dx, View dweight_part);

// --- elementwise.cpp --------------------------------------------------------------------------
void fill_rows(View x, float value);
void copy_rows(View from, View to);
void add_rows(View x, View y);
void add_bias_rows(View bias, View y);
/// dbias[c] (+)= sum over rows of dy[:, c].
void column_sums(View dy, View dbias, bool accumulate);
double sum_squares_rows(View x);
/// y *= factors[row].
void scale_rows(View y, const float* factors);
/// out[row] = sum of a[row] * b[row].
void dot_rows(View a, View b, float* out);

// --- activation.cpp ---------------------------------------------------------------------------
void swiglu_rows(View gate_up, View h);
void swiglu_backward_rows(View gate_up, View dh, View dgate_up);
/// `position` is the position of the first row; rows follow each other and start again at 0 after
/// `length`.
void rope_rows(View qkv, Heads heads, std::int64_t position, std::int64_t length, View table,
               bool inverse);

// --- softmax.cpp ------------------------------------------------------------------------------
/// Overwrites logits with gradient_scale * (softmax - one_hot(label)); returns the summed loss.
double cross_entropy_rows(View logits, const std::int32_t* labels, float gradient_scale);

/// One tile of causal scores: row r may see columns [0, first_visible + r], all of them when that
/// is beyond the tile.
struct CausalTile {
  View scores;  ///< [rows, cols]
  std::int64_t first_visible = 0;
  float scale = 1.0F;
};
/// scores become e^(scale * score - new max), 0 where not visible. maxima and sums are the running
/// softmax state of each row; factors receives what earlier output must be multiplied with.
void softmax_tile(const CausalTile& tile, float* maxima, float* sums, float* factors);
/// scores become probabilities from the kept log denominators, dscores (gradient of the
/// probabilities) becomes the gradient of the unscaled scores: scale * p * (dp - delta[row]).
void softmax_backward_tile(const CausalTile& tile, View dscores, const float* lse,
                           const float* delta);

// --- optimizer.cpp ----------------------------------------------------------------------------
void adamw_rows(View parameters, View gradients, View first_moment, View second_moment,
                const AdamwStep& step);

}  // namespace tunebench::engine::cpu
