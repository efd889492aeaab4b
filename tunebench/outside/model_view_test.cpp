#include "tunebench/outside/model_view.h"

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"

namespace tunebench::outside {
namespace {

class ModelView : public testing::Test {
 protected:
  Json config_of(const std::string& text) {
    write_file_atomically(model() / "config.json", text);
    make_version_4_view(model(), view());
    return Json::parse(read_file(view() / "config.json"), "config");
  }
  std::filesystem::path model() { return folder_.path() / "model"; }
  std::filesystem::path view() { return folder_.path() / "view"; }
  TemporaryFolder folder_;
};

TEST_F(ModelView, WritesRopeAndTypeAsVersion4ReadsThem) {
  const Json config = config_of(
      R"({"dtype": "float32", "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"}})");
  EXPECT_EQ(config.at("torch_dtype").as_string(), "float32");
  EXPECT_EQ(config.at("rope_theta").as_double(), 100000.0);
  EXPECT_EQ(config.find("rope_scaling"), nullptr) << "the default scales nothing";
}

TEST_F(ModelView, KeepsAScalingAndWhatStandsThere) {
  const Json config = config_of(
      R"({"rope_theta": 5.0, "rope_parameters": {"rope_theta": 7.0, "rope_type": "linear",
          "factor": 2.0}, "torch_dtype": "bfloat16", "dtype": "float32"})");
  EXPECT_EQ(config.at("rope_theta").as_double(), 5.0);
  EXPECT_EQ(config.at("torch_dtype").as_string(), "bfloat16");
  EXPECT_EQ(config.at("rope_scaling"),
            Json::parse(R"({"rope_type": "linear", "factor": 2.0})", "expected"));
}

TEST_F(ModelView, GivesATokenizerClassThatVersion4Has) {
  write_file_atomically(model() / "tokenizer_config.json",
                        R"({"tokenizer_class": "TokenizersBackend", "model_max_length": 8192})");
  write_file_atomically(model() / "model.safetensors", "weights");
  config_of("{}");
  const Json tokenizer = Json::parse(read_file(view() / "tokenizer_config.json"), "tokenizer");
  EXPECT_EQ(tokenizer.at("tokenizer_class").as_string(), "PreTrainedTokenizerFast");
  EXPECT_EQ(tokenizer.at("model_max_length").as_int(), 8192);
  EXPECT_EQ(read_file(view() / "model.safetensors"), "weights");
  EXPECT_TRUE(std::filesystem::is_symlink(view() / "model.safetensors"));
  EXPECT_EQ(read_file(model() / "tokenizer_config.json"),
            R"({"tokenizer_class": "TokenizersBackend", "model_max_length": 8192})")
      << "the model itself is left alone";
}

TEST_F(ModelView, NamesTheSpecialTokensThatTheModelKnowsByNumber) {
  write_file_atomically(
      model() / "tokenizer.json",
      R"({"added_tokens": [{"id": 0, "content": "<pad>"}, {"id": 2, "content": "</s>"}]})");
  write_file_atomically(model() / "tokenizer_config.json", R"({"eos_token": "<end>"})");
  config_of(R"({"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2})");
  EXPECT_EQ(Json::parse(read_file(view() / "tokenizer_config.json"), "t"),
            Json::parse(R"({"eos_token": "<end>", "tokenizer_class": "PreTrainedTokenizerFast",
                            "pad_token": "<pad>"})",
                        "expected"));
}

TEST_F(ModelView, AnotherTokenizerClassStays) {
  write_file_atomically(model() / "tokenizer_config.json",
                        R"({"tokenizer_class": "GPT2Tokenizer"})");
  config_of("{}");
  EXPECT_EQ(Json::parse(read_file(view() / "tokenizer_config.json"), "t")
                .at("tokenizer_class")
                .as_string(),
            "GPT2Tokenizer");
}

}  // namespace
}  // namespace tunebench::outside
