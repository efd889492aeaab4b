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
  std::string_view router;
  std::string_view experts;  ///< "<experts>.<expert>.<name>"; empty: all stacked in one tensor
  std::array<std::string_view, 2> expert_gate_up;
  std::string_view expert_down;
  std::string_view shared_gate;
  std::array<std::string_view, 2> gate_up;  ///< here and down: with experts, the shared one's
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

/// Those of Llama with the norms of each head that Qwen3 has.
inline constexpr TensorNames kQwen3Names = [] {
  TensorNames names = kLlamaNames;
  names.query_norm = "self_attn.q_norm";
  names.key_norm = "self_attn.k_norm";
  return names;
}();

/// Norms around each half of a block.
inline constexpr TensorNames kGemmaNames = [] {
  TensorNames names = kQwen3Names;
  names.post_attention_norm = "post_attention_layernorm";
  names.middle_norm = "pre_feedforward_layernorm";
  names.post_mlp_norm = "post_feedforward_layernorm";
  return names;
}();

inline constexpr TensorNames kPhi3Names = [] {
  TensorNames names = kLlamaNames;
  names.qkv = {"self_attn.qkv_proj"};
  names.gate_up = {"mlp.gate_up_proj"};
  return names;
}();

inline constexpr TensorNames kGraniteHybridNames = [] {
  TensorNames names = kLlamaNames;
  names.gate_up = {"shared_mlp.input_linear"};
  names.down = "shared_mlp.output_linear";
  return names;
}();

inline constexpr TensorNames kMixtralNames = [] {
  TensorNames names = kLlamaNames;
  names.router = "block_sparse_moe.gate";
  names.experts = "block_sparse_moe.experts";
  names.expert_gate_up = {"w1", "w3"};
  names.expert_down = "w2";
  return names;
}();

inline constexpr TensorNames kGraniteMoeNames = [] {
  TensorNames names = kGraniteHybridNames;
  names.router = "block_sparse_moe.router.layer";
  names.expert_gate_up = {"block_sparse_moe.input_linear"};
  names.expert_down = "block_sparse_moe.output_linear";
  return names;
}();

inline constexpr TensorNames kQwen3MoeNames = [] {
  TensorNames names = kQwen3Names;
  names.router = "mlp.gate";
  names.experts = "mlp.experts";
  names.expert_gate_up = {"gate_proj", "up_proj"};
  names.expert_down = "down_proj";
  return names;
}();

inline constexpr TensorNames kQwen2MoeNames = [] {
  TensorNames names = kQwen3MoeNames;
  names.shared_gate = "mlp.shared_expert_gate";
  names.gate_up = {"mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj"};
  names.down = "mlp.shared_expert.down_proj";
  return names;
}();

inline constexpr TensorNames kGptBigCodeNames = {
    .embedding = "transformer.wte",
    .positions = "transformer.wpe",
    .blocks = "transformer.h",
    .input_norm = "ln_1",
    .qkv = {"attn.c_attn"},
    .output = "attn.c_proj",
    .middle_norm = "ln_2",
    .gate_up = {"mlp.c_fc"},
    .down = "mlp.c_proj",
    .final_norm = "transformer.ln_f",
    .head = "lm_head",
};

inline constexpr TensorNames kBloomNames = {
    .embedding = "transformer.word_embeddings",
    .embedding_norm = "transformer.word_embeddings_layernorm",
    .blocks = "transformer.h",
    .input_norm = "input_layernorm",
    .qkv = {"self_attention.query_key_value"},
    .output = "self_attention.dense",
    .middle_norm = "post_attention_layernorm",
    .gate_up = {"mlp.dense_h_to_4h"},
    .down = "mlp.dense_4h_to_h",
    .final_norm = "transformer.ln_f",
    .head = "lm_head",
};

}  // namespace tunebench::model
