#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/model/model_source.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/rope.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::m0_config;
using testing::message_of;
using testing::WarningCatcher;

ModelSpec parse(const Json& config) {
  return parse_model_config(config, "config.json");
}

ModelSpec with(const std::string& key, Json value) {
  return parse(m0_config().set(key, std::move(value)));
}

std::string refusal(const std::string& key, const std::string& value) {
  return message_of([&] { with(key, Json::parse(value, "test")); });
}

Json without(std::string_view key) {
  const Json whole = m0_config();
  Json config = Json::object();
  for (const auto& [name, value] : whole.as_object()) {
    if (name != key) {
      config.set(name, value);
    }
  }
  return config;
}

TEST(ModelConfigTest, ReadsTheShape) {
  const ModelSpec spec = parse(m0_config());
  EXPECT_EQ(spec.model_type, "llama");
  EXPECT_EQ(spec.vocabulary, 260);
  EXPECT_EQ(spec.width, 16);
  EXPECT_EQ(spec.layers, 2);
  EXPECT_EQ(spec.heads, 4);
  EXPECT_EQ(spec.kv_heads, 2);
  EXPECT_EQ(spec.head_width, 4);
  EXPECT_EQ(spec.feed_forward, 32);
  EXPECT_EQ(spec.max_positions, 512);
  EXPECT_EQ(spec.norm_epsilon, 1e-5);
  EXPECT_EQ(spec.rope_theta, 10000.0);
  EXPECT_TRUE(spec.tied_head);
  EXPECT_FALSE(spec.qkv_bias);
  EXPECT_EQ(spec.stored_dtype, "float32");
  EXPECT_EQ(spec.bos_token, 1);
  EXPECT_THAT(spec.eos_tokens, ElementsAre(2));
  EXPECT_EQ(spec.pad_token, 0);
}

TEST(ModelConfigTest, TakesTheClassDefaultsOfWhatIsAbsent) {
  Json config = Json::object({{"model_type", "llama"},
                              {"vocab_size", 10},
                              {"hidden_size", 8},
                              {"intermediate_size", 8},
                              {"num_hidden_layers", 1},
                              {"num_attention_heads", 2}});
  const ModelSpec spec = parse(config);
  EXPECT_EQ(spec.kv_heads, 2);
  EXPECT_EQ(spec.norm_epsilon, 1e-6);
  EXPECT_EQ(spec.rope_theta, 10000.0);
  EXPECT_EQ(spec.max_positions, 2048);
  EXPECT_EQ(spec.initializer_range, 0.02);
  EXPECT_FALSE(spec.tied_head);
  EXPECT_FALSE(spec.pad_token.has_value());
  EXPECT_THAT(spec.eos_tokens, IsEmpty());
}

TEST(ModelConfigTest, ReadsTheConfigOfSmolLm2) {
  const Json config = Json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576,
          "initializer_range": 0.041666666666666664, "intermediate_size": 1536,
          "is_llama_config": true, "max_position_embeddings": 8192, "mlp_bias": false,
          "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
          "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
          "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
          "tie_word_embeddings": true, "torch_dtype": "bfloat16",
          "transformers_version": "4.40.1", "use_cache": true, "vocab_size": 49152})",
      "config.json");
  const WarningCatcher warnings;
  EXPECT_EQ(parameter_count(parse(config)), 134515008);
  EXPECT_EQ(warnings.text(), "");
}

TEST(ModelConfigTest, RefusesAMissingOrImpossibleSizeByName) {
  EXPECT_EQ(message_of([] { parse(without("hidden_size")); }),
            "config.json: hidden_size is missing, expected an integer from 1 to 2147483648");
  EXPECT_EQ(refusal("num_hidden_layers", "0"),
            "config.json: num_hidden_layers is 0, expected an integer from 1 to 16384");
  EXPECT_THAT(refusal("vocab_size", "-5"), HasSubstr("vocab_size is -5"));
  EXPECT_THAT(refusal("vocab_size", "1.5"), HasSubstr("vocab_size is 1.5"));
  EXPECT_THAT(refusal("hidden_size", "\"big\""), HasSubstr("hidden_size is \"big\""));
  EXPECT_THAT(refusal("hidden_size", "1e30"), HasSubstr("hidden_size is 1e"));
  EXPECT_THAT(refusal("max_position_embeddings", "0"), HasSubstr("max_position_embeddings is 0"));
  EXPECT_EQ(code_of([] { with("vocab_size", -5); }), ErrorCode::InvalidInput);
}

TEST(ModelConfigTest, RefusesProductsThatNoMachineHolds) {
  EXPECT_EQ(refusal("vocab_size", "2147483648"), "no error");
  const auto huge = [](std::int64_t width) {
    parse(m0_config().set("vocab_size", std::int64_t{1} << 30).set("hidden_size", width));
  };
  EXPECT_EQ(message_of([&] { huge(2048); }),
            "config.json: vocab_size * hidden_size is more than 2^40");
  EXPECT_EQ(message_of([] {
              parse(m0_config().set("intermediate_size", 1 << 26).set("num_hidden_layers", 16384));
            }),
            "config.json: the number of parameters is more than 2^40");
}

TEST(ModelConfigTest, RefusesHeadsThatDoNotDivide) {
  EXPECT_EQ(refusal("num_key_value_heads", "3"),
            "config.json: num_key_value_heads is 3, expected a divisor of num_attention_heads 4");
  EXPECT_EQ(message_of([] { parse(m0_config().set("hidden_size", 18)); }),
            "config.json: hidden_size is 18, expected a multiple of num_attention_heads 4, or a "
            "head_dim");
  EXPECT_EQ(refusal("head_dim", "5"), "config.json: a head is 5 wide, expected an even number");
  EXPECT_EQ(parse(m0_config().set("hidden_size", 18).set("head_dim", 4)).head_width, 4);
}

// CFG-05
TEST(ModelConfigTest, AcceptsANumberOrAListOfEndTokens) {
  EXPECT_THAT(with("eos_token_id", Json::array({2, 1})).eos_tokens, ElementsAre(2, 1));
  EXPECT_THAT(with("eos_token_id", nullptr).eos_tokens, IsEmpty());
  EXPECT_FALSE(with("pad_token_id", nullptr).pad_token.has_value());
  EXPECT_FALSE(with("pad_token_id", -1).pad_token.has_value());
  EXPECT_EQ(refusal("eos_token_id", "260"),
            "config.json: eos_token_id is 260, expected a token id below vocab_size 260");
  EXPECT_THAT(refusal("pad_token_id", "[0]"), HasSubstr("pad_token_id is [0]"));
}

TEST(ModelConfigTest, ReadsLlama3ScalingUnderBothKeys) {
  for (const char* key : {"rope_type", "type"}) {
    const ModelSpec spec =
        with("rope_scaling", Json::object({{key, "llama3"},
                                           {"factor", 8.0},
                                           {"low_freq_factor", 1.0},
                                           {"high_freq_factor", 4.0},
                                           {"original_max_position_embeddings", 64}}));
    EXPECT_EQ(spec.rope_scaling.type, RopeScaling::Type::Llama3) << key;
    EXPECT_EQ(spec.rope_scaling.factor, 8.0);
    EXPECT_EQ(spec.rope_scaling.original_max_positions, 64);
  }
}

TEST(ModelConfigTest, ReadsTheNewerRopeBlock) {
  Json config = without("rope_theta");
  config.set("rope_parameters", Json::object({{"rope_theta", 500000.0}, {"rope_type", "default"}}));
  EXPECT_EQ(parse(config).rope_theta, 500000.0);
  EXPECT_EQ(parse(config).rope_scaling.type, RopeScaling::Type::None);
}

// CFG-01
TEST(ModelConfigTest, RefusesARopeTypeItDoesNotKnow) {
  EXPECT_EQ(refusal("rope_scaling", R"({"rope_type": "nonsense"})"),
            "config.json: rope_scaling: rope_type is \"nonsense\", this program knows default, "
            "linear, llama3, dynamic, yarn and longrope");
  EXPECT_THAT(refusal("rope_scaling", R"({"type": "proportional", "factor": 4})"),
              HasSubstr("type is \"proportional\""));
  EXPECT_EQ(code_of([] {
              with("rope_scaling", Json::object({{"type", "mrope"}}));
            }),
            ErrorCode::Unsupported);
}

TEST(ModelConfigTest, RefusesARopeBlockThatIsNotWhole) {
  EXPECT_EQ(refusal("rope_scaling", R"({"type": "linear"})"),
            "config.json: rope_scaling: factor is missing, expected a number above 0");
  EXPECT_THAT(refusal("rope_scaling", R"({"rope_type": "llama3", "factor": 8})"),
              HasSubstr("low_freq_factor is missing"));
  EXPECT_THAT(refusal("rope_scaling", R"({"rope_type": "linear", "type": "llama3", "factor": 8})"),
              HasSubstr("the same as rope_type, linear"));
  EXPECT_THAT(refusal("rope_scaling", R"({"rope_type": "linear", "factor": 8, "beta_fast": 32})"),
              HasSubstr("beta_fast is 32, which this program does not understand"));
  EXPECT_THAT(refusal("rope_parameters", R"({"full_attention": {"rope_theta": 1.0}})"),
              HasSubstr("full_attention is"));
  EXPECT_THAT(refusal("rope_scaling", "[1]"), HasSubstr("rope_scaling: is an array"));
}

TEST(ModelConfigTest, RefusesWhatChangesTheArithmetic) {
  EXPECT_EQ(refusal("hidden_act", "\"relu\""),
            "config.json: hidden_act is \"relu\", silu, gelu and gelu_pytorch_tanh are supported");
  EXPECT_THAT(refusal("model_type", "\"gpt_neox\""),
              HasSubstr("model_type is \"gpt_neox\", this program knows llama, mistral, qwen2"));
  EXPECT_EQ(refusal("model_type", "\"gpt_oss\""),
            "config.json: model_type is \"gpt_oss\", this kind of mixture of experts is not "
            "supported yet");
  EXPECT_EQ(refusal("architectures", "[\"LlamaForSequenceClassification\"]"),
            "config.json: architectures is [\"LlamaForSequenceClassification\"], a model of type "
            "llama has [\"LlamaForCausalLM\"]");
  for (const char* key : {"logit_scale", "attention_multiplier", "embedding_multiplier",
                          "residual_multiplier", "logits_scaling", "attention_dropout",
                          "pretraining_tp", "partial_rotary_factor", "final_logit_softcapping"}) {
    EXPECT_THAT(refusal(key, "0.5"), HasSubstr(std::string("config.json: ") + key + " is 0.5"));
  }
  EXPECT_THAT(refusal("quantization_config", R"({"quant_method": "gptq"})"),
              HasSubstr("quantization_config: weights quantized by gptq"));
  EXPECT_THAT(refusal("layer_types", R"(["full_attention", "sliding_attention"])"),
              HasSubstr("layer_types"));
  EXPECT_THAT(refusal("torch_dtype", "\"float8_e4m3fn\""), HasSubstr("torch_dtype is"));
}

TEST(ModelConfigTest, AcceptsTheValuesThatChangeNothing) {
  const WarningCatcher warnings;
  Json config = m0_config();
  config.set("pretraining_tp", 1)
      .set("attention_dropout", 0.0)
      .set("logit_scale", 1.0)
      .set("quantization_config", nullptr)
      .set("final_logit_softcapping", nullptr)
      .set("rope_interleaved", false)
      .set("layer_types", Json::array({"full_attention", "full_attention"}))
      .set("use_cache", true)
      .set("transformers_version", "5.24.0");
  EXPECT_EQ(parameter_count(parse(config)), 8848);
  EXPECT_EQ(warnings.text(), "");
}

TEST(ModelConfigTest, ReportsKeysThatNothingKnows) {
  const WarningCatcher warnings;
  with("shiny_new_thing", 3);
  EXPECT_EQ(warnings.text(), "config.json: ignored, as nothing here knows them: shiny_new_thing");
}

TEST(ModelConfigTest, GivesQwen2ItsBiasesAlthoughTheConfigIsSilent) {
  Json config = m0_config();
  config.set("model_type", "qwen2").set("architectures", Json::array({"Qwen2ForCausalLM"}));
  EXPECT_TRUE(parse(config).qkv_bias);
  EXPECT_FALSE(parse(config).output_bias);
}

TEST(ModelConfigTest, WritesWhatItReadsBack) {
  Json scaled = m0_config();
  scaled.set("attention_bias", true)
      .set("mlp_bias", true)
      .set("eos_token_id", Json::array({2, 5}))
      .set("head_dim", 8)
      .set("rope_scaling", Json::object({{"rope_type", "llama3"},
                                         {"factor", 8.0},
                                         {"low_freq_factor", 1.0},
                                         {"high_freq_factor", 4.0},
                                         {"original_max_position_embeddings", 64}}));
  Json qwen = m0_config();
  qwen.set("model_type", "qwen2").set("architectures", nullptr);
  Json mistral = m0_config();
  mistral.set("model_type", "mistral").set("architectures", nullptr).set("sliding_window", nullptr);
  Json linear = m0_config();
  linear.set("rope_scaling", Json::object({{"type", "linear"}, {"factor", 2.5}}));
  for (const Json& config : {m0_config(), scaled, qwen, mistral, linear}) {
    const Json written = model_config_json(parse(config));
    const ModelSpec again = parse(written);
    EXPECT_EQ(model_config_json(again), written);
    EXPECT_EQ(again.model_type, config.at("model_type").as_string());
    EXPECT_EQ(parameter_count(again), parameter_count(parse(config)));
    EXPECT_EQ(rope_frequencies(again), rope_frequencies(parse(config)));
  }
  for (const Preset& preset : presets()) {
    const ModelSpec again = parse(model_config_json(preset.spec));
    EXPECT_EQ(parameter_count(again), parameter_count(preset.spec));
    EXPECT_EQ(again.eos_tokens, preset.spec.eos_tokens);
  }
}

}  // namespace
}  // namespace tunebench::model
