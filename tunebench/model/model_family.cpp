#include "tunebench/model/model_family.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

void read_granite(ConfigReader& reader, ModelSpec& spec) {
  spec.embedding_scale = reader.positive_or("embedding_multiplier", 1.0);
  spec.residual_scale = reader.positive_or("residual_multiplier", 1.0);
  spec.logit_divisor = reader.positive_or("logits_scaling", 1.0);
  spec.attention_scale = reader.positive_or("attention_multiplier", 1.0);
}

void write_granite(const ModelSpec& spec, Json& config) {
  config.set("embedding_multiplier", spec.embedding_scale)
      .set("residual_multiplier", spec.residual_scale)
      .set("logits_scaling", spec.logit_divisor)
      .set("attention_multiplier", spec.attention_scale);
}

std::vector<Family> make_families() {
  std::vector<Family> list;
  list.push_back({.model_type = "llama",
                  .architecture = "LlamaForCausalLM",
                  .biases = Biases::AttentionAndMlp});
  list.push_back({.model_type = "mistral",
                  .architecture = "MistralForCausalLM",
                  .max_positions = 131072,
                  .window = 4096,
                  .window_rule = WindowRule::All});
  list.push_back({.model_type = "qwen2",
                  .architecture = "Qwen2ForCausalLM",
                  .max_positions = 32768,
                  .window = 4096,
                  .biases = Biases::Qkv,
                  .window_rule = WindowRule::FromLayer});
  list.push_back({.model_type = "granite",
                  .architecture = "GraniteForCausalLM",
                  .biases = Biases::AttentionAndMlp,
                  .read_own = read_granite,
                  .write_own = write_granite});
  return list;
}

/// model_type of what is known and not supported yet.
constexpr std::string_view kExperts = "mixture of experts is not supported yet";
constexpr std::string_view kVision = "the vision tower is not supported yet";
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kReasons = {{
    {"mixtral", kExperts},
    {"granitemoe", kExperts},
    {"granitemoeshared", kExperts},
    {"qwen2_moe", kExperts},
    {"qwen3_moe", kExperts},
    {"olmoe", kExperts},
    {"deepseek_v3", kExperts},
    {"gpt_oss", kExperts},
    {"llava", kVision},
    {"llava_next", kVision},
    {"gemma3", kVision},
    {"mllama", kVision},
    {"qwen2_vl", kVision},
    {"qwen2_5_vl", kVision},
}};

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> list = make_families();
  return list;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(families().begin(), families().end(), [&](const Family& family) {
    return family.model_type == model_type;
  });
  return found == families().end() ? nullptr : &*found;
}

const Family& family_of(const ModelSpec& spec) {
  const Family* family = find_family(spec.model_type);
  return family == nullptr ? families().front() : *family;
}

std::string family_names() {
  std::string names;
  for (const Family& family : families()) {
    const bool last = &family == &families().back();
    names += fmt::format("{}{}", names.empty() ? "" : last ? " and " : ", ", family.model_type);
  }
  return names;
}

std::string_view reason_against(std::string_view model_type) {
  for (const auto& [type, reason] : kReasons) {
    if (type == model_type) {
      return reason;
    }
  }
  return {};
}

}  // namespace tunebench::model
