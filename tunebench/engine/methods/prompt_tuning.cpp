// Prompt tuning: each sequence begins with rows that are trained in place of embedded tokens; the
// model is frozen. They stand at positions 0, 1, ... and predict nothing themselves.
// Source: Lester et al. 2021, arXiv:2104.08691; names and defaults of huggingface/peft 0.21.2,
// tuners/prompt_tuning.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"
#include "tunebench/base/text.h"
#include "tunebench/engine/methods/added_values.h"
#include "tunebench/engine/methods/make_methods.h"
#include "tunebench/engine/methods/peft_config.h"
#include "tunebench/model/model_family.h"

namespace tunebench::engine {
namespace {

constexpr std::string_view kPrompt = "prompt_embeddings";

class PromptTuning final : public Method {
 public:
  PromptTuning(const Json& config, std::string_view origin) {
    PeftConfig reader(config, origin);
    virtual_tokens_ = reader.integer("num_virtual_tokens", 0, 1, 1 << 20);
    if (virtual_tokens_ == 0) {
      reader.refuse("num_virtual_tokens", "must be 1 or more");
    }
    beginning_ = reader.text("prompt_tuning_init", "RANDOM");
    if (beginning_ != "RANDOM" && beginning_ != "SAMPLE_VOCAB" && beginning_ != "TEXT") {
      reader.refuse("prompt_tuning_init", "must be RANDOM, SAMPLE_VOCAB or TEXT");
    }
    text_ = reader.text("prompt_tuning_init_text", "");
    if (beginning_ == "TEXT" && text_.empty()) {
      reader.refuse("prompt_tuning_init_text", "but prompt_tuning_init is TEXT");
    }
    if (reader.integer("num_transformer_submodules", 1, 1, 2) != 1) {
      reader.refuse("num_transformer_submodules", "must be 1: the model has a decoder only");
    }
    // What the model's shape and its tokenizer say already.
    reader.finish(std::array<std::string_view, 5>{"num_attention_heads", "num_layers", "token_dim",
                                                  "tokenizer_kwargs", "tokenizer_name_or_path"});
  }

  [[nodiscard]] Json config() const override {
    return Json::object({{"peft_type", "PROMPT_TUNING"},
                         {"task_type", "CAUSAL_LM"},
                         {"num_virtual_tokens", virtual_tokens_},
                         {"num_transformer_submodules", 1},
                         {"prompt_tuning_init", beginning_},
                         {"prompt_tuning_init_text", text_.empty() ? Json() : Json(text_)}});
  }

  [[nodiscard]] Json config_of(const model::ModelSpec& spec) const override {
    Json config = this->config();
    config.set("token_dim", spec.width);
    config.set("num_layers", spec.layers);
    config.set("num_attention_heads", spec.heads);
    if (beginning_ == "TEXT") {
      config.set("tokenizer_name_or_path", spec.name);  // PEFT asks for one with a text
    }
    return config;
  }

  [[nodiscard]] Training training(const model::ModelSpec& spec) const override {
    Training training;
    training.whole_model = false;
    training.added.push_back({.parts = {{std::string(kPrompt), virtual_tokens_}},
                              .cols = spec.width,
                              .multiplies = false});
    return training;
  }

  [[nodiscard]] std::int64_t virtual_tokens() const override { return virtual_tokens_; }

  [[nodiscard]] const Parameter* prompt(const Parameters& parameters) const override {
    return &parameters.added_matrix(0);
  }

  [[nodiscard]] std::string beginning_text() const override {
    return beginning_ == "TEXT" ? text_ : std::string();
  }

  /// RANDOM: standard normal, as a new torch.nn.Embedding. Else embedded tokens: of the text, over
  /// and over, or drawn.
  void begin(const model::ModelSpec& spec, const Beginning& beginning,
             const Parameters& parameters) const override {
    const View prompt = parameters.added_matrix(0).value;
    if (beginning_ == "RANDOM") {
      draw_standard_normal(beginning.seed, kPrompt, prompt);
      return;
    }
    if (beginning_ == "TEXT" && beginning.text.empty()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("prompt_tuning_init_text '{}' has no tokens", excerpt(text_)));
    }
    const View table = parameters.embedding().value;
    for (std::int64_t row = 0; row < prompt.rows; ++row) {
      const std::int64_t token =
          beginning_ == "TEXT"
              ? beginning.text[static_cast<std::size_t>(row) % beginning.text.size()]
              : static_cast<std::int64_t>(uniform_int(beginning.seed, kSampleStream,
                                                      static_cast<std::uint64_t>(row),
                                                      static_cast<std::uint64_t>(table.rows)));
      copy_scaled(table.row_range(token, 1),
                  model::family_of(spec).scaled_table ? spec.embedding_scale : 1.0,
                  prompt.row_range(row, 1));
    }
  }

  [[nodiscard]] std::string stored_name(const model::ModelSpec& /*spec*/,
                                        std::string_view tensor) const override {
    return std::string(tensor);
  }

 private:
  static constexpr std::uint64_t kSampleStream = 0x70726f6d7074;  // "prompt"

  std::int64_t virtual_tokens_ = 0;
  std::string beginning_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Method> make_prompt_tuning(const Json& config, std::string_view origin) {
  return std::make_unique<PromptTuning>(config, origin);
}

}  // namespace tunebench::engine
