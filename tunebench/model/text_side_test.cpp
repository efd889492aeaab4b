#include "tunebench/model/text_side.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using ::testing::HasSubstr;
using testing::m0_config;
using testing::message_of;
using testing::tensor_of;
using testing::TensorData;
using testing::tensors_of;
using testing::WarningCatcher;
using testing::write_folder;

/// A small Llama that sees images.
Json seeing_config(Json text = m0_config()) {
  return Json::object({{"architectures", Json::array({"LlavaNextForConditionalGeneration"})},
                       {"model_type", "llava_next"},
                       {"image_token_index", 250},
                       {"vision_config", Json::object({{"hidden_size", 8}})},
                       {"vision_feature_layer", Json::array({-24, -1})},
                       {"text_config", std::move(text)}});
}

ModelSpec seen_spec(const Json& config) {
  return parse_model_config(config, "config.json");
}

std::string seeing_refused(const Json& config) {
  return message_of([&] { seen_spec(config); });
}

TEST(TextSide, IsReadAsAModelOfItsOwn) {
  const WarningCatcher warnings;
  const ModelSpec spec = seen_spec(seeing_config());
  EXPECT_EQ(spec.model_type, "llama");
  EXPECT_EQ(spec.width, 16);
  EXPECT_EQ(spec.name, "config.json");
  EXPECT_EQ(parameter_count(spec), parameter_count(seen_spec(m0_config())));
  EXPECT_EQ(tensor_shapes(spec).front().name, "language_model.model.embed_tokens.weight");
  EXPECT_EQ(warnings.text(), "");
  const Json written = model_config_json(spec);
  EXPECT_EQ(model_config_json(seen_spec(written)), written);
}

// text_config of llava-hf/llava-v1.6-mistral-7b-hf tells no more than this.
TEST(TextSide, HasTheSizesOfItsClassWhereTheFileIsSilent) {
  const ModelSpec spec = seen_spec(seeing_config(Json::parse(R"({
      "_name_or_path": "mistralai/Mistral-7B-Instruct-v0.2",
      "architectures": ["MistralForCausalLM"], "intermediate_size": 14336,
      "max_position_embeddings": 32768, "model_type": "mistral", "num_key_value_heads": 8,
      "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
      "torch_dtype": "bfloat16", "vocab_size": 32064})",
                                                             "text_config")));
  EXPECT_EQ(spec.layers, 32);
  EXPECT_EQ(spec.width, 4096);
  EXPECT_EQ(spec.window, 0);
  // That of Mistral 7B with 64 more words in embedding and head.
  EXPECT_EQ(parameter_count(spec), 7241732096 + 2 * 64 * 4096);
}

TEST(TextSide, TakesFromTheWholeWhatItLeavesOut) {
  Json text = Json::object();
  for (const auto& [key, value] : m0_config().as_object()) {
    if (key != "tie_word_embeddings" && key != "torch_dtype" && key != "pad_token_id") {
      text.set(key, value);
    }
  }
  const ModelSpec spec = seen_spec(seeing_config(text)
                                       .set("tie_word_embeddings", true)
                                       .set("dtype", "bfloat16")
                                       .set("pad_token_id", 7));
  EXPECT_TRUE(spec.tied_head);
  EXPECT_EQ(spec.stored_dtype, "bfloat16");
  EXPECT_EQ(spec.pad_token, 7);
  EXPECT_FALSE(seen_spec(seeing_config(text)).tied_head);
  EXPECT_EQ(seen_spec(seeing_config().set("torch_dtype", "float16")).stored_dtype, "float32");
}

TEST(TextSide, RefusesWhatItCannotRead) {
  EXPECT_EQ(seeing_refused(seeing_config(Json(nullptr))),
            "config.json: text_config is null, expected the configuration of the text side");
  EXPECT_THAT(seeing_refused(seeing_config().set("tie_word_embeddings", false)),
              HasSubstr("tie_word_embeddings is false, and true in text_config"));
  EXPECT_THAT(seeing_refused(seeing_config(m0_config().set("model_type", "mamba2"))),
              HasSubstr("config.json: text_config: model_type is \"mamba2\""));
  EXPECT_THAT(seeing_refused(seeing_config(seeing_config())),
              HasSubstr("text_config: model_type is \"llava_next\""));
  EXPECT_THAT(seeing_refused(seeing_config().set("architectures", Json::array({"LlavaNextForX"}))),
              HasSubstr("a model of type llava_next has [\"LlavaNextForConditionalGeneration\"]"));
  EXPECT_THAT(seeing_refused(seeing_config().set("quantization_config",
                                                 Json::object({{"quant_method", "awq"}}))),
              HasSubstr("quantized by awq"));
}

TEST(TextSide, LeavesTheTensorsThatLookAtImagesAlone) {
  const TemporaryFolder folder;
  std::vector<TensorData> tensors = tensors_of(seen_spec(seeing_config()));
  tensors.push_back(tensor_of("vision_tower.embeddings.class_embedding", {8}));
  tensors.push_back(tensor_of("multi_modal_projector.linear_1.weight", {16, 8}));
  tensors.push_back(tensor_of("image_newline", {16}));
  write_folder(folder.path(), seeing_config(), tensors);
  {
    const WarningCatcher warnings;
    EXPECT_EQ(parameter_count(resolve_model(folder.path().string()).spec), 8848);
    EXPECT_THAT(warnings.text(), HasSubstr("3 tensors that look at images are not read"));
  }
  tensors.push_back(tensor_of("visions.weight", {8}));
  write_folder(folder.path(), seeing_config(), tensors);
  EXPECT_THAT(message_of([&] { resolve_model(folder.path().string()); }),
              HasSubstr("tensor 'visions.weight' has no place"));
  // A text model has no such tensors.
  tensors = tensors_of(seen_spec(m0_config()));
  tensors.push_back(tensor_of("image_newline", {16}));
  write_folder(folder.path(), m0_config(), tensors);
  EXPECT_THAT(message_of([&] { resolve_model(folder.path().string()); }),
              HasSubstr("tensor 'image_newline' has no place"));
}

}  // namespace
}  // namespace tunebench::model
