// Reading config.json. Keys that change the arithmetic and are not understood are refused unless
// they hold the value that changes nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/model/config_keys.h"
#include "tunebench/model/config_reader.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/position_config.h"

namespace tunebench::model {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kLargestProduct = std::int64_t{1} << 40;
constexpr std::int64_t kMostLayers = 16384;

const Family& read_family(ConfigReader& reader) {
  const std::optional<std::string> type = reader.text("model_type");
  if (!type) {
    throw reader.invalid("model_type", fmt::format("one of {}", family_names()));
  }
  const Family* found = find_family(*type);
  if (found == nullptr) {
    const std::string_view reason = reason_against(*type);
    throw reader.unsupported("model_type",
                             reason.empty() ? fmt::format("this program knows {}", family_names())
                                            : std::string(reason));
  }
  const Json* architectures = reader.value("architectures");
  if (architectures != nullptr) {
    const bool one_text = architectures->is_array() && architectures->as_array().size() == 1 &&
                          architectures->as_array().front().is_string();
    if (!one_text || architectures->as_array().front().as_string() != found->architecture) {
      throw reader.unsupported("architectures", fmt::format("a model of type {} has [\"{}\"]",
                                                            *type, found->architecture));
    }
  }
  return *found;
}

std::int64_t product_within(const ConfigReader& reader, std::string_view what,
                            std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (product > kLargestProduct / size) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: {} is more than 2^40", reader.origin(), what));
    }
    product *= size;
  }
  return product;
}

void read_head_width(ConfigReader& reader, const Family& family, std::string_view width_key,
                     ModelSpec& spec) {
  const bool divides = spec.width % spec.heads == 0;
  if (reader.stated("head_dim")) {
    spec.head_width = reader.size("head_dim", kLargestSize);
  } else if (family.head_width > 0 && !reader.has_key("head_dim")) {
    spec.head_width = family.head_width;
  } else if (reader.value("head_dim") == nullptr && divides) {
    spec.head_width = spec.width / spec.heads;
  } else {
    throw reader.invalid(width_key, fmt::format("a multiple of {} {}, or a head_dim",
                                                family.keys.heads, spec.heads));
  }
  if (spec.positions == PositionKind::Rope && spec.head_width % 2 != 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: a head is {} wide, expected an even number", reader.origin(),
                            spec.head_width));
  }
}

void read_sizes(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  constexpr SizeKeys kUsual;
  const SizeKeys& keys = family.keys;
  const std::string_view width = reader.either(keys.width, kUsual.width);
  const std::string_view heads = reader.either(keys.heads, kUsual.heads);
  const std::string_view inner = keys.feed_forward;
  spec.vocabulary = reader.size("vocab_size", kLargestSize);
  spec.width = reader.size(width, kLargestSize);
  spec.layers = reader.size(reader.either(keys.layers, kUsual.layers), kMostLayers);
  spec.heads = reader.size(heads, kLargestSize);
  const bool silent = !reader.has_key("num_key_value_heads") && family.kv_heads > 0;
  spec.kv_heads =
      reader.size_or("num_key_value_heads", silent ? family.kv_heads : spec.heads, kLargestSize);
  // A block without gates has the width of the first transformers unless it says otherwise.
  spec.feed_forward = family.gated_mlp ? reader.size(inner, kLargestSize)
                                       : reader.size_or(inner, 4 * spec.width, 4 * kLargestSize);
  spec.max_positions = reader.size_or(reader.either(keys.positions, kUsual.positions),
                                      family.max_positions, kLargestSize);
  if (spec.heads % spec.kv_heads != 0) {
    throw reader.invalid("num_key_value_heads",
                         fmt::format("a divisor of {} {}", heads, spec.heads));
  }
  read_head_width(reader, family, width, spec);
}

/// One by one the products fit int64, so their sum over tensors does too.
void check_products(const ConfigReader& reader, const ModelSpec& spec) {
  product_within(reader, "vocab_size * hidden_size", {spec.vocabulary, spec.width});
  if (spec.positions == PositionKind::Learned) {
    product_within(reader, "max_position_embeddings * hidden_size",
                   {spec.max_positions, spec.width});
  }
  const std::int64_t attention =
      product_within(reader, "num_attention_heads * head_dim * hidden_size",
                     {spec.heads, spec.head_width, spec.width});
  const std::int64_t mlp =
      product_within(reader, "intermediate_size * hidden_size", {spec.feed_forward, spec.width});
  product_within(reader, "the number of parameters", {4 * attention + 3 * mlp, spec.layers});
}

/// The same of what only a family with experts reads.
void check_expert_products(const ConfigReader& reader, const ModelSpec& spec) {
  const std::int64_t experts =
      product_within(reader, "the width of all experts",
                     {spec.experts.count + 1, spec.feed_forward + spec.experts.shared + 1});
  const std::int64_t weights =
      product_within(reader, "the size of all experts", {3 * experts, spec.width});
  product_within(reader, "the number of parameters", {weights, spec.layers});
}

std::optional<std::int64_t> token_id(const ConfigReader& reader, std::string_view key,
                                     const Json& value, std::int64_t vocabulary) {
  if (!value.is_int() || value.as_int() >= vocabulary) {
    throw reader.invalid(key, fmt::format("a token id below vocab_size {}", vocabulary));
  }
  // -1 stands for "no such token" in files of early conversions.
  return value.as_int() < 0 ? std::nullopt : std::optional(value.as_int());
}

void read_token_ids(ConfigReader& reader, ModelSpec& spec) {
  if (const Json* bos = reader.value("bos_token_id")) {
    spec.bos_token = token_id(reader, "bos_token_id", *bos, spec.vocabulary);
  }
  if (const Json* pad = reader.value("pad_token_id")) {
    spec.pad_token = token_id(reader, "pad_token_id", *pad, spec.vocabulary);
  }
  const Json* eos = reader.value("eos_token_id");
  if (eos == nullptr) {
    return;
  }
  const Json::Array ids = eos->is_array() ? eos->as_array() : Json::Array{*eos};
  for (const Json& id : ids) {
    if (const auto token = token_id(reader, "eos_token_id", id, spec.vocabulary)) {
      spec.eos_tokens.push_back(*token);
    }
  }
}

std::string read_dtype(ConfigReader& reader) {
  const std::string_view key = reader.stated("dtype") ? "dtype" : "torch_dtype";
  const std::optional<std::string> newer = reader.text("dtype");
  const std::optional<std::string> older = reader.text("torch_dtype");
  std::string name = newer ? *newer : older.value_or("float32");
  if (name.starts_with("torch.")) {
    name = name.substr(6);
  }
  if (name != "float32" && name != "float16" && name != "bfloat16") {
    throw reader.unsupported(key, "this program reads float32, float16 and bfloat16");
  }
  return name;
}

Activation read_activation(ConfigReader& reader, const Family& family) {
  constexpr std::array<std::pair<std::string_view, Activation>, 6> kKnown = {{
      {"silu", Activation::Silu},
      {"swish", Activation::Silu},
      {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"gelu", Activation::Gelu},
  }};
  const std::string_view key = family.keys.activation;
  const std::optional<std::string> name = reader.text(key);
  if (!name) {
    return family.activation;
  }
  for (const auto& [known, activation] : kKnown) {
    if (known == *name) {
      return activation;
    }
  }
  throw reader.unsupported(key, "silu, gelu and gelu_pytorch_tanh are supported");
}

void read_biases(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  const bool always = family.biases == Biases::All;
  const bool attention = reader.boolean_or("attention_bias", always);
  const bool mlp = reader.boolean_or("mlp_bias", always);
  const bool asks_attention =
      family.biases == Biases::Attention || family.biases == Biases::AttentionAndMlp;
  if (mlp && !always && family.biases != Biases::AttentionAndMlp) {
    throw reader.unsupported("mlp_bias",
                             fmt::format("a model of type {} has none", family.model_type));
  }
  if (attention && family.biases == Biases::None) {
    throw reader.unsupported("attention_bias",
                             fmt::format("a model of type {} has none", family.model_type));
  }
  spec.mlp_bias = mlp || always;
  spec.output_bias = (asks_attention && attention) || always;
  // Those of qwen2 belong to the architecture, whatever attention_bias says.
  spec.qkv_bias = spec.output_bias || family.biases == Biases::Qkv;
}

/// What the family says without asking the file.
ModelSpec shape_of_family(const Family& family, std::string_view origin) {
  ModelSpec spec;
  spec.name = std::string(origin);
  spec.model_type = std::string(family.model_type);
  spec.norm = family.norm;
  spec.embedding_norm = family.embedding_norm;
  spec.post_norms = family.post_norms;
  spec.qk_norm = family.qk_norm;
  spec.whole_qk_norm = family.whole_qk_norm;
  spec.positions = family.positions;
  spec.gated_mlp = family.gated_mlp;
  return spec;
}

}  // namespace

ModelSpec parse_model_config(const Json& config, std::string_view origin) {
  ConfigReader reader(config, origin);
  const Family& family = read_family(reader);
  refuse_quantized(reader);
  ModelSpec spec = shape_of_family(family, origin);
  read_sizes(reader, family, spec);
  check_products(reader, spec);
  spec.activation = read_activation(reader, family);
  spec.norm_epsilon = reader.positive_or(family.keys.epsilon, family.norm_epsilon);
  spec.initializer_range = reader.positive_or("initializer_range", 0.02);
  spec.tied_head = reader.boolean_or("tie_word_embeddings", family.tied_head);
  spec.stored_dtype = read_dtype(reader);
  if (family.read_own != nullptr) {
    family.read_own(reader, spec);
    check_expert_products(reader, spec);
  }
  if (spec.positions == PositionKind::Rope) {
    read_rope(reader, family, spec);
  }
  read_window(reader, family, spec);
  read_biases(reader, family, spec);
  read_token_ids(reader, spec);
  refuse_what_alters(reader);
  report_unknown(reader);
  return spec;
}

}  // namespace tunebench::model
