#include "tunebench/model/model_source.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using testing::code_of;
using ::testing::HasSubstr;
using testing::m0_config;
using testing::message_of;
using testing::tensor_of;
using testing::TensorData;
using testing::tensors_of;
using testing::WarningCatcher;
using testing::write_folder;

class ModelFolderTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "m"; }

  static ModelSpec spec(const Json& config) { return parse_model_config(config, "config.json"); }

  ModelSource resolve() const { return resolve_model(path().string()); }

  [[nodiscard]] std::string refusal() const {
    return message_of([&] { resolve(); });
  }

 private:
  TemporaryFolder folder_;
};

TEST(ModelSourceTest, KnowsPresetsToMeasureAndToTest) {
  const ModelSource smol = resolve_model("smollm2-135m");
  EXPECT_TRUE(smol.random_weights());
  EXPECT_EQ(smol.spec.layers, 30);
  EXPECT_EQ(smol.spec.max_positions, 8192);
  const ModelSource tiny = resolve_model("tiny");
  EXPECT_LT(parameter_count(tiny.spec), 120000);
  EXPECT_GE(tiny.spec.vocabulary, 259);
  EXPECT_NE(smol.fingerprint, tiny.fingerprint);
  EXPECT_EQ(tiny.fingerprint, resolve_model("tiny").fingerprint);
}

TEST(ModelSourceTest, SuggestsTheNearestName) {
  EXPECT_EQ(message_of([] { resolve_model("smolm2-135m"); }),
            "unknown model 'smolm2-135m'; did you mean 'smollm2-135m'? (see: tunebench models)");
  EXPECT_EQ(code_of([] { resolve_model("smolm2-135m"); }), ErrorCode::NotFound);
  EXPECT_EQ(message_of([] { resolve_model("HuggingFaceTB/SmolLM2-135M"); }),
            "unknown model 'HuggingFaceTB/SmolLM2-135M'; did you mean 'smollm2-135m'? (see: "
            "tunebench models)");
  EXPECT_EQ(message_of([] { resolve_model("./no/such/folder"); }),
            "unknown model './no/such/folder'; give a preset or a folder with config.json (see: "
            "tunebench models)");
  EXPECT_THAT(message_of([] { resolve_model("a\nb"); }), HasSubstr("unknown model 'a\\x0"));
}

TEST(ModelSourceTest, KnowsTheNamesOfTheReferenceSystem) {
  std::set<std::string> names;
  for (const KnownModel& model : known_models()) {
    names.insert(model.name);
  }
  EXPECT_EQ(names.size(), 41U);
  EXPECT_EQ(resolve_model("granite-3-8b").spec.model_type, "granite");
  EXPECT_EQ(resolve_model("mixtral-8x7b-instruct-v0.1").spec.experts.count, 8);
  EXPECT_EQ(message_of([] { resolve_model("granite-vision-3.2-2b"); }),
            "model 'granite-vision-3.2-2b' is known by name, but the vision tower is not supported "
            "yet (see: tunebench models)");
  EXPECT_EQ(message_of([] { resolve_model("allam-1-13b"); }),
            "model 'allam-1-13b' is known by name, but its shape is not published; give the folder "
            "that holds it (see: tunebench models)");
  EXPECT_EQ(code_of([] { resolve_model("granite-4.0-h-tiny"); }), ErrorCode::Unsupported);
}

TEST_F(ModelFolderTest, ReadsAFolder) {
  write_folder(path(), m0_config(), tensors_of(spec(m0_config())));
  const ModelSource source = resolve();
  EXPECT_EQ(source.folder, path());
  EXPECT_FALSE(source.random_weights());
  EXPECT_EQ(source.spec.name, path().string());
  EXPECT_EQ(parameter_count(source.spec), 8848);
}

// CLI-04
TEST_F(ModelFolderTest, ReadsAFolderOfAnyName) {
  for (const char* name : {"mod el", "modèle-模型-🦙", "it's \"q\"", "-dash"}) {
    const auto folder = path() / name;
    write_folder(folder, m0_config(), tensors_of(spec(m0_config())));
    EXPECT_EQ(resolve_model(folder.string()).spec.width, 16) << name;
  }
}

TEST_F(ModelFolderTest, SaysWhatAFolderLacks) {
  std::filesystem::create_directories(path());
  EXPECT_EQ(refusal(), path().string() + ": has no config.json, so it is not a model folder");
  testing::write_json(path() / "config.json", m0_config());
  EXPECT_THAT(refusal(), HasSubstr("has neither model.safetensors"));
  write_file_atomically(path() / "config.json", "{\"model_type\": ");
  EXPECT_THAT(refusal(), HasSubstr("config.json:1:"));
  write_file_atomically(path() / "config.json",
                        "version https://git-lfs.github.com/spec/v1\nsize 5\n");
  EXPECT_THAT(refusal(), HasSubstr("config.json: is a Git LFS pointer"));
  EXPECT_THAT(message_of([&] { resolve_model((path() / "config.json").string()); }),
              HasSubstr("is a file, expected a model folder"));
}

// WGT-01
TEST_F(ModelFolderTest, TakesTheEmbeddingForATiedHeadAndWarnsOfADifferentCopy) {
  std::vector<TensorData> tensors = tensors_of(spec(m0_config()));
  TensorData copy = tensors.front();
  copy.name = "lm_head.weight";
  tensors.push_back(copy);
  write_folder(path(), m0_config(), tensors);
  {
    const WarningCatcher warnings;
    EXPECT_EQ(parameter_count(resolve().spec), 8848);
    EXPECT_EQ(warnings.text(), "");
  }
  tensors.back() = tensor_of("lm_head.weight", {260, 16}, StoredType::BF16, 3.0F);
  write_folder(path(), m0_config(), tensors);
  const WarningCatcher warnings;
  EXPECT_EQ(parameter_count(resolve().spec), 8848);
  EXPECT_THAT(warnings.text(), HasSubstr("the stored lm_head.weight differs from the embedding"));
}

// WGT-01
TEST_F(ModelFolderTest, RefusesAnUntiedModelWithoutAHead) {
  const Json untied = m0_config().set("tie_word_embeddings", false);
  write_folder(path(), untied, tensors_of(spec(m0_config())));
  EXPECT_EQ(refusal(), path().string() +
                           ": tensor 'lm_head.weight' is missing from the weights; config.json "
                           "says tie_word_embeddings false");
  write_folder(path(), untied, tensors_of(spec(untied)));
  EXPECT_EQ(parameter_count(resolve().spec), 13008);
}

TEST_F(ModelFolderTest, TakesTensorsWithoutTheFirstWordOfTheirNames) {
  const Json bloom = Json::object(
      {{"model_type", "bloom"}, {"vocab_size", 20}, {"n_embed", 8}, {"n_layer", 1}, {"n_head", 2}});
  std::vector<TensorData> tensors = tensors_of(spec(bloom));
  for (TensorData& tensor : tensors) {
    ASSERT_EQ(tensor.name.rfind("transformer.", 0), 0U) << tensor.name;
    tensor.name = tensor.name.substr(12);
  }
  // The head is the embedding; a copy of it may lie beside.
  tensors.push_back(tensors.front());
  tensors.back().name = "lm_head.weight";
  write_folder(path(), bloom, tensors);
  const WarningCatcher warnings;
  EXPECT_EQ(resolve().spec.model_type, "bloom");
  EXPECT_EQ(warnings.text(), "");
  tensors.erase(tensors.begin() + 1);
  write_folder(path(), bloom, tensors);
  EXPECT_THAT(refusal(),
              HasSubstr("tensor 'transformer.word_embeddings_layernorm.weight' is missing"));
}

TEST_F(ModelFolderTest, RefusesWrongShapesAndTypes) {
  write_folder(path(), m0_config().set("intermediate_size", 33), tensors_of(spec(m0_config())));
  EXPECT_EQ(refusal(), path().string() +
                           ": tensor 'model.layers.0.mlp.gate_proj.weight' is [32, 16], "
                           "config.json asks for [33, 16]");
  std::vector<TensorData> tensors = tensors_of(spec(m0_config()));
  tensors[1] = tensor_of(tensors[1].name, tensors[1].shape, StoredType::I64);
  write_folder(path(), m0_config(), tensors);
  EXPECT_THAT(refusal(), HasSubstr("self_attn.q_proj.weight' is I64"));
}

TEST_F(ModelFolderTest, RefusesTensorsWithoutAPlace) {
  std::vector<TensorData> tensors = tensors_of(spec(m0_config()));
  tensors.push_back(tensor_of("model.layers.0.self_attn.q_norm.weight", {4}));
  write_folder(path(), m0_config(), tensors);
  EXPECT_EQ(refusal(), path().string() +
                           ": tensor 'model.layers.0.self_attn.q_norm.weight' has no place in a "
                           "llama of the shape that config.json tells");
}

// GPQ-04, LRA-06: methods of later versions
TEST_F(ModelFolderTest, RefusesQuantizedWeightsAndAdaptersByName) {
  std::vector<TensorData> tensors = tensors_of(spec(m0_config()));
  tensors[1] = tensor_of("model.layers.0.self_attn.q_proj.qweight", {2, 16}, StoredType::I32);
  write_folder(path(), m0_config(), tensors);
  EXPECT_THAT(refusal(), HasSubstr("q_proj.qweight' is a part of GPTQ or AWQ quantized weights"));
  const Json gptq = Json::object({{"quant_method", "gptq"}, {"bits", 4}});
  testing::write_json(path() / "config.json", m0_config().set("quantization_config", gptq));
  EXPECT_THAT(refusal(), HasSubstr("quantization_config: weights quantized by gptq are not"));
  std::filesystem::remove(path() / "config.json");
  write_file_atomically(path() / "adapter_config.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("holds an adapter (LoRA or prompt tuning)"));
}

TEST_F(ModelFolderTest, WarnsOfStoredRopeFrequencies) {
  std::vector<TensorData> tensors = tensors_of(spec(m0_config()));
  tensors.push_back(tensor_of("model.layers.0.self_attn.rotary_emb.inv_freq", {2}));
  write_folder(path(), m0_config(), tensors);
  const WarningCatcher warnings;
  EXPECT_EQ(parameter_count(resolve().spec), 8848);
  EXPECT_THAT(warnings.text(), HasSubstr("1 stored rotary_emb.inv_freq are ignored"));
}

// CFG-04
TEST_F(ModelFolderTest, LetsTheFileDecideOnBiasesOfQKV) {
  Json qwen = m0_config();
  qwen.set("model_type", "qwen2").set("architectures", nullptr);
  const WarningCatcher warnings;
  write_folder(path(), qwen, tensors_of(spec(qwen)));
  EXPECT_EQ(parameter_count(resolve().spec), 8912);
  EXPECT_EQ(warnings.text(), "");
  write_folder(path(), qwen, tensors_of(spec(m0_config())));
  EXPECT_EQ(parameter_count(resolve().spec), 8848);
  EXPECT_THAT(warnings.text(), HasSubstr("no q, k and v biases are stored"));
  write_folder(path(), m0_config(), tensors_of(spec(qwen)));
  EXPECT_EQ(parameter_count(resolve().spec), 8912);
  EXPECT_THAT(warnings.text(), HasSubstr("does not announce them; they are used"));
}

TEST_F(ModelFolderTest, RefusesBiasesThatAreNotWholeOrNotAnnounced) {
  Json qwen = m0_config();
  qwen.set("model_type", "qwen2").set("architectures", nullptr);
  std::vector<TensorData> tensors = tensors_of(spec(qwen));
  tensors.erase(std::find_if(tensors.begin(), tensors.end(), [](const TensorData& tensor) {
    return tensor.name == "model.layers.1.self_attn.v_proj.bias";
  }));
  write_folder(path(), qwen, tensors);
  EXPECT_THAT(refusal(), HasSubstr("tensor 'model.layers.1.self_attn.v_proj.bias' is missing"));
  tensors = tensors_of(spec(m0_config()));
  tensors.push_back(tensor_of("model.layers.0.self_attn.o_proj.bias", {16}));
  write_folder(path(), m0_config(), tensors);
  EXPECT_THAT(refusal(), HasSubstr("self_attn.o_proj.bias' has no place"));
}

TEST_F(ModelFolderTest, FingerprintFollowsConfigTokenizerAndWeights) {
  write_folder(path(), m0_config(), tensors_of(spec(m0_config())));
  const std::string first = resolve().fingerprint;
  EXPECT_EQ(resolve().fingerprint, first);
  write_file_atomically(path() / "tokenizer.json", "{}");
  const std::string with_tokenizer = resolve().fingerprint;
  EXPECT_NE(with_tokenizer, first);
  write_file_atomically(path() / "tokenizer_config.json", R"({"model_max_length": 8})");
  EXPECT_NE(resolve().fingerprint, with_tokenizer) << "samples are cut to another length";
  std::filesystem::remove(path() / "tokenizer_config.json");
  testing::write_json(path() / "config.json", m0_config().set("rms_norm_eps", 1e-6));
  EXPECT_NE(resolve().fingerprint, with_tokenizer);
  testing::write_json(path() / "config.json", m0_config());
  std::filesystem::last_write_time(
      path() / "model.safetensors",
      std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(resolve().fingerprint, with_tokenizer);
}

}  // namespace
}  // namespace tunebench::model
