#include <optional>
#include <string>

#include "tunebench/base/error.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::model {
namespace {

Json rope_scaling_json(const RopeScaling& scaling) {
  Json block = Json::object();
  switch (scaling.type) {
    case RopeScaling::Type::None:
      return nullptr;
    case RopeScaling::Type::Linear:
      block.set("rope_type", "linear").set("type", "linear").set("factor", scaling.factor);
      return block;
    case RopeScaling::Type::Llama3:
      block.set("rope_type", "llama3")
          .set("factor", scaling.factor)
          .set("low_freq_factor", scaling.low_freq_factor)
          .set("high_freq_factor", scaling.high_freq_factor)
          .set("original_max_position_embeddings", scaling.original_max_positions);
      return block;
  }
  return nullptr;
}

/// The family whose arithmetic has exactly these biases.
const Family& family_for(const ModelSpec& spec) {
  if (spec.qkv_bias && !spec.output_bias && !spec.mlp_bias) {
    return kFamilies[2];
  }
  if (spec.qkv_bias != spec.output_bias) {
    throw Error(ErrorCode::Unsupported,
                "no model type has these biases: q, k, v and output must agree when the mlp has "
                "biases");
  }
  const bool plain = !spec.qkv_bias && !spec.mlp_bias;
  return plain && spec.model_type == "mistral" ? kFamilies[1] : kFamilies[0];
}

Json id_json(const std::optional<std::int64_t>& id) {
  return id ? Json(*id) : Json(nullptr);
}

}  // namespace

Json model_config_json(const ModelSpec& spec) {
  const Family& family = family_for(spec);
  Json config = Json::object();
  config.set("architectures", Json::array({family.architecture}))
      .set("model_type", family.model_type)
      .set("vocab_size", spec.vocabulary)
      .set("hidden_size", spec.width)
      .set("intermediate_size", spec.feed_forward)
      .set("num_hidden_layers", spec.layers)
      .set("num_attention_heads", spec.heads)
      .set("num_key_value_heads", spec.kv_heads)
      .set("head_dim", spec.head_width)
      .set("hidden_act", "silu")
      .set("max_position_embeddings", spec.max_positions)
      .set("initializer_range", spec.initializer_range)
      .set("rms_norm_eps", spec.rms_epsilon)
      .set("rope_theta", spec.rope_theta)
      .set("rope_scaling", rope_scaling_json(spec.rope_scaling))
      .set("attention_bias", spec.qkv_bias && spec.output_bias)
      .set("attention_dropout", 0.0)
      .set("mlp_bias", spec.mlp_bias)
      .set("tie_word_embeddings", spec.tied_head)
      .set("bos_token_id", id_json(spec.bos_token));
  if (spec.eos_tokens.size() == 1) {
    config.set("eos_token_id", spec.eos_tokens.front());
  } else {
    config.set("eos_token_id", spec.eos_tokens.empty()
                                   ? Json(nullptr)
                                   : Json::array({spec.eos_tokens.begin(), spec.eos_tokens.end()}));
  }
  config.set("pad_token_id", id_json(spec.pad_token)).set("torch_dtype", spec.stored_dtype);
  if (family.model_type == "mistral") {
    config.set("sliding_window", nullptr);
  }
  return config;
}

}  // namespace tunebench::model
