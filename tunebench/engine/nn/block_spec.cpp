#include "tunebench/engine/nn/block_spec.h"

#include <cmath>

namespace tunebench::engine {
namespace {

Activation activation_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::Silu:
      return Activation::Silu;
    case model::Activation::GeluTanh:
      return Activation::GeluTanh;
    case model::Activation::Gelu:
      return Activation::Gelu;
  }
  return Activation::Silu;
}

Scoring scoring_of(const model::ModelSpec& spec, std::int64_t layer) {
  return {.scale = spec.attention_scale > 0.0
                       ? spec.attention_scale
                       : 1.0 / std::sqrt(static_cast<double>(spec.head_width)),
          .window = spec.local(layer) ? spec.window : 0,
          .cap = spec.score_cap,
          .alibi = spec.positions == model::PositionKind::Alibi};
}

}  // namespace

BlockSpec make_block_spec(const model::ModelSpec& spec, std::int64_t layer,
                          const RopeTables& tables) {
  const NormSpec norm{spec.norm, spec.norm_epsilon};
  return {.width = spec.width,
          .norm = norm,
          .post_norms = spec.post_norms,
          .residual_scale = spec.residual_scale,
          .attention = {.heads = {.query = spec.heads,
                                  .key_value = spec.kv_heads,
                                  .width = spec.head_width,
                                  .interleaved = spec.interleaved_qkv},
                        .scoring = scoring_of(spec, layer),
                        .rope_table = spec.local(layer) ? tables.local : tables.whole,
                        .qk_norm = spec.qk_norm,
                        .whole_qk_norm = spec.whole_qk_norm,
                        .norm = norm},
          .mlp = {.feed_forward = spec.dense_feed_forward(),
                  .gated = spec.gated_mlp,
                  .weighed = spec.experts.shared_gate,
                  .activation = activation_of(spec.activation)},
          .experts = {.count = spec.experts.count,
                      .chosen = spec.experts.chosen,
                      .feed_forward = spec.feed_forward,
                      .renormalise = spec.experts.renormalise,
                      .activation = activation_of(spec.activation)}};
}

}  // namespace tunebench::engine
