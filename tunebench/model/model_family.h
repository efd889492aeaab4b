#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/model/config_reader.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/tensor_names.h"

namespace tunebench::model {

/// Why something is refused that will not be for ever.
inline constexpr std::string_view kNoSuchExperts =
    "this kind of mixture of experts is not supported yet";
inline constexpr std::string_view kNoStateSpace =
    "state-space (Mamba) layers are not supported yet";
inline constexpr std::string_view kNoVision = "the vision tower is not supported yet";

/// What config.json calls the sizes. For width, layers, heads and positions the names of Llama are
/// understood, too.
struct SizeKeys {
  std::string_view width = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view feed_forward = "intermediate_size";
  std::string_view positions = "max_position_embeddings";
  std::string_view epsilon = "rms_norm_eps";
  std::string_view activation = "hidden_act";
};

/// Which projections carry a bias. Attention: q, k, v and output when attention_bias says so;
/// AttentionAndMlp: also mlp_bias; Qkv: q, k and v always; All: every projection always.
enum class Biases { None, Attention, AttentionAndMlp, Qkv, All };

/// Which layers have the window when config.json does not list them. FromLayer: those from
/// max_window_layers on, if use_sliding_window; EveryOther: the first, third, ...; FiveOfSix: all
/// but each sixth.
enum class WindowRule { None, All, FromLayer, EveryOther, FiveOfSix };

/// One family of models: what its architecture fixes, what holds where config.json is silent, where
/// its checkpoints keep the tensors.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  TensorNames names = kLlamaNames;
  SizeKeys keys = {};

  std::int64_t max_positions = 2048;  ///< from here to rope_theta: when the file is silent
  std::int64_t kv_heads = 0;          ///< 0: as many as heads
  std::int64_t head_width = 0;        ///< 0: width / heads
  std::int64_t window = 0;            ///< 0: none
  double norm_epsilon = 1e-6;
  bool tied_head = false;
  Activation activation = Activation::Silu;
  double rope_theta = 10000.0;
  double local_rope_theta = 0.0;  ///< 0: layers with a window rotate as the others

  NormKind norm = NormKind::Rms;  ///< from here on: fixed by the architecture
  PositionKind positions = PositionKind::Rope;
  Biases biases = Biases::None;
  WindowRule window_rule = WindowRule::None;
  bool embedding_norm = false;
  bool scaled_table = false;  ///< embedding_scale is of the table: a row beside it is not scaled
  bool post_norms = false;
  bool qk_norm = false;
  bool whole_qk_norm = false;
  bool gated_mlp = true;
  bool partial_rotary = false;  ///< partial_rotary_factor is read

  /// Keys that only this family has. Errors: as parse_model_config.
  void (*read_own)(ConfigReader& reader, ModelSpec& spec) = nullptr;
  void (*write_own)(const ModelSpec& spec, Json& config) = nullptr;
};

/// In the order in which they are shown. Defaults are those of the configuration classes of
/// transformers 5.24.
const std::vector<Family>& families();

/// nullptr: not known.
const Family* find_family(std::string_view model_type);

/// Of a shape; one made by hand without a model_type is a llama.
const Family& family_of(const ModelSpec& spec);

/// "llama, mistral and qwen2": for messages.
std::string family_names();

/// What is known and refused.
struct RefusedModelType {
  std::string_view model_type;
  std::string_view reason;  ///< "the vision tower is not supported yet"
};
const std::vector<RefusedModelType>& refused_model_types();

/// The reason of refused_model_types(); empty: nothing is known of this type.
std::string_view reason_against(std::string_view model_type);

}  // namespace tunebench::model
