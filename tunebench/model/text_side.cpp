#include "tunebench/model/text_side.h"

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tunebench/model/config_keys.h"
#include "tunebench/model/model_family.h"

namespace tunebench::model {
namespace {

constexpr std::string_view kArchitecture = "LlavaNextForConditionalGeneration";

/// The sizes of a configuration class; text_config holds only what differs from them.
struct ClassSizes {
  std::string_view model_type;
  std::int64_t vocabulary;
  std::int64_t width;
  std::int64_t feed_forward;
  std::int64_t layers;
  std::int64_t heads;
};
// transformers 5.24
constexpr std::array kClassSizes = {
    ClassSizes{"llama", 32000, 4096, 11008, 32, 32},
    ClassSizes{"mistral", 32000, 4096, 14336, 32, 32},
    ClassSizes{"granite", 32000, 4096, 11008, 32, 32},
    ClassSizes{"qwen2", 151936, 4096, 22016, 32, 32},
};

void set_if_absent(Json& config, std::string_view key, const Json& value) {
  if (config.find(key) == nullptr) {
    config.set(std::string(key), value);
  }
}

void add_class_sizes(std::string_view model_type, Json& config) {
  for (const ClassSizes& sizes : kClassSizes) {
    if (sizes.model_type == model_type) {
      set_if_absent(config, "vocab_size", sizes.vocabulary);
      set_if_absent(config, "hidden_size", sizes.width);
      set_if_absent(config, "intermediate_size", sizes.feed_forward);
      set_if_absent(config, "num_hidden_layers", sizes.layers);
      set_if_absent(config, "num_attention_heads", sizes.heads);
    }
  }
}

/// The whole and its text side may both tell; then they have to agree.
void take_tied_head(ConfigReader& reader, Json& config) {
  constexpr std::string_view kKey = "tie_word_embeddings";
  if (!reader.stated(kKey)) {
    return;
  }
  const bool tied = reader.boolean_or(kKey, false);
  const Json* own = config.find(kKey);
  if (own != nullptr && own->is_bool() && own->as_bool() != tied) {
    throw reader.unsupported(kKey,
                             fmt::format("and {} in text_config; make them agree", own->as_bool()));
  }
  config.set(std::string(kKey), tied);
}

/// The first that is stated of some names of the same thing, unless the text side has one.
void take_from_whole(ConfigReader& reader, std::initializer_list<std::string_view> names,
                     Json& config) {
  const Json* whole = nullptr;
  std::string_view told;
  for (const std::string_view name : names) {
    const Json* found = reader.value(name);
    if (config.find(name) != nullptr) {
      return;
    }
    if (whole == nullptr && found != nullptr) {
      whole = found;
      told = name;
    }
  }
  if (whole != nullptr) {
    config.set(std::string(told), *whole);
  }
}

void pass_over_image_side(ConfigReader& reader) {
  for (const char* key :
       {"model_type", "vision_config", "vision_feature_layer", "vision_feature_select_strategy",
        "ignore_index", "image_grid_pinpoints", "image_newline", "image_seq_length",
        "image_token_id", "image_token_index", "multimodal_projector_bias", "projector_hidden_act",
        "use_image_newline_parameter", "vocab_size", "initializer_range"}) {
    static_cast<void>(reader.value(key));
  }
}

}  // namespace

bool has_text_side(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type != nullptr && type->is_string() && type->as_string() == kSeeingModelType;
}

Json text_side_config(ConfigReader& reader) {
  refuse_quantized(reader);
  const Json* architectures = reader.value("architectures");
  if (architectures != nullptr && *architectures != Json::array({kArchitecture})) {
    throw reader.unsupported("architectures", fmt::format("a model of type {} has [\"{}\"]",
                                                          kSeeingModelType, kArchitecture));
  }
  const Json* inner = reader.value("text_config");
  if (inner == nullptr || !inner->is_object()) {
    throw reader.invalid("text_config", "the configuration of the text side");
  }
  Json config = *inner;
  set_if_absent(config, "model_type", "llama");
  const Json* type = config.find("model_type");
  add_class_sizes(type->is_string() ? type->as_string() : std::string(), config);
  take_tied_head(reader, config);
  take_from_whole(reader, {"pad_token_id"}, config);
  take_from_whole(reader, {"dtype", "torch_dtype"}, config);
  pass_over_image_side(reader);
  return config;
}

Json with_text_side(Json text_config) {
  const Json tied = *text_config.find("tie_word_embeddings");
  Json config = Json::object();
  config.set("architectures", Json::array({kArchitecture}))
      .set("model_type", kSeeingModelType)
      .set("tie_word_embeddings", tied)
      .set("text_config", std::move(text_config));
  return config;
}

bool looks_at_images(std::string_view tensor) {
  return tensor.starts_with("vision_tower.") || tensor.starts_with("multi_modal_projector.") ||
         tensor == "image_newline";
}

}  // namespace tunebench::model
