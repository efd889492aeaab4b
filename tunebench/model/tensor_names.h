#pragma once

#include <array>
#include <string_view>

namespace tunebench::model {

/// Where a family's checkpoints keep what a model is made of, without ".weight" and ".bias". Names
/// of a block follow "<blocks>.<layer>.". An empty name: the family has no such tensor. A
/// projection with one name is stored fused.
struct TensorNames {
  std::string_view embedding;
  std::string_view positions;
  std::string_view embedding_norm;
  std::string_view blocks;
  std::string_view input_norm;
  std::array<std::string_view, 3> qkv;
  std::string_view query_norm;
  std::string_view key_norm;
  std::string_view output;
  std::string_view post_attention_norm;
  std::string_view middle_norm;
  std::array<std::string_view, 2> gate_up;
  std::string_view down;
  std::string_view post_mlp_norm;
  std::string_view final_norm;
  std::string_view head;
};

inline constexpr TensorNames kLlamaNames = {
    .embedding = "model.embed_tokens",
    .blocks = "model.layers",
    .input_norm = "input_layernorm",
    .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
    .output = "self_attn.o_proj",
    .middle_norm = "post_attention_layernorm",
    .gate_up = {"mlp.gate_proj", "mlp.up_proj"},
    .down = "mlp.down_proj",
    .final_norm = "model.norm",
    .head = "lm_head",
};

}  // namespace tunebench::model
