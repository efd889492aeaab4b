#include "tunebench/model/gguf.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/json.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/safetensors.h"
#include "tunebench/model/test_folder.h"
#include "tunebench/model/test_gguf.h"

namespace tunebench::model {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::llama_builder;
using testing::message_of;
using testing::WarningCatcher;

std::filesystem::path golden(const char* name) {
  return std::filesystem::path(TB_GOLDEN_FOLDER) / "gguf" / name;
}

class GgufImportTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "m.gguf"; }
  [[nodiscard]] std::filesystem::path target() const { return folder_.path() / "model"; }

  [[nodiscard]] Json json(const char* name) const {
    return Json::parse(read_file(target() / name), name);
  }

  /// Imports the golden file with every `from` replaced by `to`, which is as long.
  std::string refusal(const std::string& from, const std::string& to) const {
    std::string content = read_file(golden("tiny.gguf"));
    EXPECT_EQ(from.size(), to.size());
    EXPECT_NE(content.find(from), std::string::npos) << from;
    for (std::size_t place = content.find(from); place != std::string::npos;
         place = content.find(from, place + to.size())) {
      content.replace(place, from.size(), to);
    }
    write_file_atomically(file(), content);
    const std::string message = message_of([&] { import_gguf(file(), target()); });
    EXPECT_FALSE(std::filesystem::exists(target())) << message;
    return message;
  }

  /// Imports what was built.
  ModelSpec import(const GgufBuilder& builder) const {
    write_file_atomically(file(), builder.file());
    std::filesystem::remove_all(target());
    import_gguf(file(), target());
    return resolve_model(target().string()).spec;
  }
  std::string refusal(const GgufBuilder& builder) const {
    return message_of([&] { import(builder); });
  }

  [[nodiscard]] std::vector<float> values(std::string_view name) const {
    const SafetensorsSet weights = SafetensorsSet::open_folder(target());
    const StoredTensor* tensor = weights.find(name);
    std::vector<float> out(static_cast<std::size_t>(tensor->elements()));
    weights.read_float32(*tensor, out);
    return out;
  }

  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(GgufImportTest, DecodesEveryTensorInHuggingFaceOrder) {
  const ImportSummary summary = import_gguf(golden("tiny.gguf"), target());
  EXPECT_EQ(summary.tensors, 20);
  EXPECT_EQ(summary.vocabulary, 270);
  EXPECT_EQ(summary.stored_dtype, "bfloat16");
  const Json expected = Json::parse(read_file(golden("tiny.expected.json")), "tiny.expected.json");
  const SafetensorsSet weights = SafetensorsSet::open_folder(target());
  EXPECT_EQ(weights.tensors().size(), expected.at("tensors").as_object().size());
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : expected.at("tensors").as_object()) {
    const StoredTensor* stored = weights.find(name);
    ASSERT_NE(stored, nullptr) << name;
    EXPECT_EQ(stored->type, StoredType::BF16);
    const auto* text =
        reinterpret_cast<const char*>(stored->bytes.data());  // NOLINT: bytes as text
    EXPECT_EQ(sha256_hex({text, stored->bytes.size()}), tensor.at("sha256").as_string()) << name;
    parameters += stored->elements();
  }
  EXPECT_EQ(summary.parameters, parameters);
}

TEST_F(GgufImportTest, MakesAFolderThatIsAModel) {
  const WarningCatcher warnings;
  import_gguf(golden("tiny.gguf"), target());
  const ModelSource source = resolve_model(target().string());
  EXPECT_EQ(source.spec.model_type, "llama");
  EXPECT_EQ(source.spec.norm_epsilon, 1e-5);
  EXPECT_EQ(source.spec.rope_theta, 50000.0);
  EXPECT_EQ(source.spec.max_positions, 128);
  EXPECT_EQ(source.spec.bos_token, 1);
  EXPECT_EQ(source.spec.pad_token, 0);
  EXPECT_TRUE(source.spec.tied_head);
  EXPECT_EQ(source.spec.stored_dtype, "bfloat16");
  EXPECT_EQ(warnings.text(), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(GgufImportTest, WritesTheTokenizerOfTheMetadata) {
  import_gguf(golden("tiny.gguf"), target());
  const Json tokenizer = json("tokenizer.json");
  const Json& model = tokenizer.at("model");
  EXPECT_EQ(model.at("type").as_string(), "BPE");
  EXPECT_EQ(model.at("vocab").as_object().size(), 265U);
  EXPECT_EQ(model.at("vocab").at("hello").as_int(), 263);
  EXPECT_EQ(model.at("merges").as_array().size(), 5U);
  EXPECT_EQ(tokenizer.at("added_tokens").as_array().size(), 4U);
  EXPECT_EQ(tokenizer.at("added_tokens").as_array()[2].dump(),
            R"({"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,)"
            R"("normalized":false,"special":true})");
  EXPECT_FALSE(tokenizer.at("added_tokens").as_array()[3].at("special").as_bool());
  EXPECT_EQ(tokenizer.at("pre_tokenizer").dump(),
            R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
            R"("use_regex":true})");
  EXPECT_EQ(tokenizer.at("post_processor").at("single").dump(),
            R"([{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])");
  EXPECT_EQ(tokenizer.at("post_processor").at("special_tokens").dump(),
            R"({"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}})");
  const Json config = json("tokenizer_config.json");
  EXPECT_EQ(config.at("eos_token").as_string(), "</s>");
  EXPECT_EQ(config.at("chat_template").as_string(), "{{ messages }}");
}

TEST_F(GgufImportTest, RefusesASplittingThatItDoesNotKnow) {
  EXPECT_THAT(refusal("smollm", "fabled"),
              HasSubstr("tokenizer.ggml.pre is 'fabled'; known are gpt-2, smollm, llama-bpe and "
                        "qwen2"));
}

TEST_F(GgufImportTest, RefusesWhatItDoesNotUnderstandByName) {
  EXPECT_THAT(refusal("general.architecture", "general.architekture"),
              HasSubstr("general.architecture is ''; only llama is read"));
  EXPECT_THAT(refusal("gpt2", "bert"), HasSubstr("tokenizer.ggml.model is 'bert'; only gpt2"));
  EXPECT_THAT(refusal("llama.embedding_length", "llama.embedding_lenght"),
              HasSubstr("has no metadata 'llama.embedding_length'"));
  EXPECT_THAT(refusal("blk.1.ffn_up.weight", "blk.1.ffn_ex.weight"),
              HasSubstr("has no tensor 'blk.1.ffn_up.weight'"));
  EXPECT_THAT(
      refusal("he ll", "xe ll"),
      HasSubstr("tokenizer.ggml.merges holds 'xe ll', whose parts or result are not tokens"));
  EXPECT_THAT(refusal("<pad>", "hello"), HasSubstr("tokenizer.ggml.tokens holds 'hello' twice"));
  EXPECT_EQ(entries(), 1);  // only the file
}

TEST_F(GgufImportTest, PutsTheRowsOfQAndKIntoTwoHalves) {
  import(llama_builder());
  // The stored rows 0 to 7 start with 0, 8, 16, ...; a head is 4 wide.
  std::vector<float> first;
  const std::vector<float> q = values("model.layers.0.self_attn.q_proj.weight");
  for (std::size_t row = 0; row < 8; ++row) {
    first.push_back(q[row * 8] / 8);
  }
  EXPECT_THAT(first, ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_EQ(values("model.layers.0.self_attn.v_proj.weight")[8], 8);
  EXPECT_EQ(values("model.layers.0.mlp.down_proj.weight")[6], 6);
}

TEST_F(GgufImportTest, KeepsBiasesAndAHeadOfItsOwn) {
  GgufBuilder builder = llama_builder();
  builder.tensor("output.weight", {8, 5}, std::vector<float>(40, 2.0F))
      .tensor("blk.0.attn_q.bias", {8}, {0, 1, 2, 3, 4, 5, 6, 7})
      .tensor("blk.0.attn_k.bias", {4}, {0, 1, 2, 3})
      .tensor("blk.0.attn_v.bias", {4}, {0, 1, 2, 3})
      .tensor("blk.0.attn_output.bias", {8}, std::vector<float>(8, 1.0F));
  const ModelSpec spec = import(builder);
  EXPECT_FALSE(spec.tied_head);
  EXPECT_TRUE(spec.qkv_bias);
  EXPECT_TRUE(spec.output_bias);
  EXPECT_THAT(values("model.layers.0.self_attn.q_proj.bias"), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(values("model.layers.0.self_attn.v_proj.bias"), ElementsAre(0, 1, 2, 3));
}

TEST_F(GgufImportTest, ReadsLinearRopeScaling) {
  GgufBuilder builder = llama_builder();
  builder.text("llama.rope.scaling.type", "linear").real("llama.rope.scaling.factor", 4.0F);
  const ModelSpec spec = import(builder);
  EXPECT_EQ(spec.rope_scaling.type, RopeScaling::Type::Linear);
  EXPECT_EQ(spec.rope_scaling.factor, 4.0);
  EXPECT_THAT(refusal(llama_builder().text("llama.rope.scaling.type", "yarn")),
              HasSubstr("llama.rope.scaling.type is 'yarn'; known are none and linear"));
  EXPECT_THAT(refusal(llama_builder().text("llama.rope.scaling.type", "linear")),
              HasSubstr("says that positions are scaled, but not by what"));
}

TEST_F(GgufImportTest, FindsTheRuleOfLlama3BehindItsFactors) {
  // Theta 1e8 and a head of 4: frequencies 1 and 1e-4, the second a wave of 62832 positions.
  const auto with_factors = [](const std::vector<float>& factors) {
    return llama_builder()
        .real("llama.rope.freq_base", 1e8F)
        .tensor("rope_freqs.weight", {factors.size()}, factors);
  };
  const ModelSpec spec = import(with_factors({1.0F, 32.0F}));
  EXPECT_EQ(spec.rope_scaling.type, RopeScaling::Type::Llama3);
  EXPECT_EQ(spec.rope_scaling.factor, 32.0);
  EXPECT_EQ(spec.rope_scaling.original_max_positions, 8192);
  EXPECT_THAT(refusal(with_factors({2.0F, 32.0F})), HasSubstr("not that of Llama 3"));
  EXPECT_THAT(refusal(with_factors({1.0F, 2.0F, 3.0F})),
              HasSubstr("is not one factor for each of 2 frequencies"));
}

TEST_F(GgufImportTest, RefusesShapesAndSizesThatDoNotFit) {
  EXPECT_THAT(refusal(llama_builder().tensor("blk.0.attn_q_norm.weight", {4}, {1, 1, 1, 1})),
              HasSubstr("tensor 'blk.0.attn_q_norm.weight' has no place in a Llama"));
  EXPECT_THAT(refusal(llama_builder().integer("llama.expert_count", 8)),
              HasSubstr("llama.expert_count is not 0"));
  EXPECT_THAT(refusal(llama_builder().integer("llama.rope.dimension_count", 2)),
              HasSubstr("llama.rope.dimension_count is 2, but a head is 4 wide"));
  EXPECT_THAT(refusal(llama_builder().integer("llama.attention.key_length", 6)),
              HasSubstr("tensor 'blk.0.attn_q.weight' is [8, 8], the metadata asks for [8, 12]"));
  EXPECT_THAT(refusal(llama_builder().integer("llama.attention.key_length", 0)),
              HasSubstr("head_dim is 0, expected an integer from 1"));
}

TEST_F(GgufImportTest, RefusesAFolderThatIsInUse) {
  std::filesystem::create_directories(target());
  import_gguf(golden("tiny.gguf"), target());  // an empty one is taken
  const std::string before = read_file(target() / "config.json");
  EXPECT_EQ(message_of([&] { import_gguf(golden("tiny.gguf"), target()); }),
            target().string() + ": exists and is not an empty folder; name another one");
  EXPECT_EQ(code_of([&] { import_gguf(golden("tiny.gguf"), target()); }), ErrorCode::InvalidInput);
  EXPECT_EQ(read_file(target() / "config.json"), before);
  EXPECT_EQ(code_of([&] { import_gguf(target() / "no.gguf", file()); }), ErrorCode::NotFound);
}

}  // namespace
}  // namespace tunebench::model
