#include "tunebench/model/gguf_tokenizer.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/model/test_folder.h"
#include "tunebench/model/test_gguf.h"

namespace tunebench::model {
namespace {

using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::message_of;
using testing::tokenizer_builder;
using testing::WarningCatcher;

ImportedTokenizer import(const GgufBuilder& builder) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "m.gguf", builder.file());
  return import_tokenizer(GgufFile(folder.path() / "m.gguf"));
}

std::string refusal(const GgufBuilder& builder) {
  return message_of([&] { import(builder); });
}

constexpr std::string_view kBytesAlone =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})";

TEST(GgufTokenizerTest, SplitsAsGpt2Does) {
  const WarningCatcher warnings;
  const ImportedTokenizer imported = import(tokenizer_builder("gpt-2"));
  EXPECT_EQ(imported.tokens, 5);
  EXPECT_EQ(imported.bos, 3);
  EXPECT_EQ(imported.eos, 4);
  EXPECT_FALSE(imported.pad.has_value());
  EXPECT_EQ(imported.tokenizer.at("pre_tokenizer").dump(),
            R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
            R"("use_regex":true})");
  EXPECT_TRUE(imported.tokenizer.at("normalizer").is_null());
  EXPECT_TRUE(imported.tokenizer.at("post_processor").is_null());
  EXPECT_FALSE(imported.tokenizer.at("model").at("ignore_merges").as_bool());
  EXPECT_EQ(imported.tokenizer.at("model").at("merges").dump(), R"(["a b"])");
  EXPECT_EQ(warnings.text(), "");
}

TEST(GgufTokenizerTest, WarnsWhenTheFileDoesNotTellHowToSplit) {
  for (const char* pre : {"", "default"}) {
    const WarningCatcher warnings;
    import(tokenizer_builder(pre));
    EXPECT_THAT(warnings.text(), HasSubstr("does not tell how text is split")) << pre;
  }
}

TEST(GgufTokenizerTest, SplitsAsLlama3DoesAndAddsItsFirstToken) {
  const ImportedTokenizer imported = import(tokenizer_builder("llama-bpe"));
  const Json& parts = imported.tokenizer.at("pre_tokenizer").at("pretokenizers");
  EXPECT_EQ(parts.as_array()[0].at("pattern").at("Regex").as_string(),
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| )"
            R"(?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  EXPECT_EQ(parts.as_array()[1].dump(), kBytesAlone);
  EXPECT_TRUE(imported.tokenizer.at("model").at("ignore_merges").as_bool());
  EXPECT_THAT(imported.tokenizer.at("post_processor").dump(), HasSubstr("TemplateProcessing"));
  const ImportedTokenizer without =
      import(tokenizer_builder("llama-bpe").boolean("tokenizer.ggml.add_bos_token", false));
  EXPECT_TRUE(without.tokenizer.at("post_processor").is_null());
}

TEST(GgufTokenizerTest, SplitsAsQwen2Does) {
  const ImportedTokenizer imported = import(tokenizer_builder("qwen2"));
  const Json& parts = imported.tokenizer.at("pre_tokenizer").at("pretokenizers");
  EXPECT_THAT(parts.as_array()[0].at("pattern").at("Regex").as_string(),
              HasSubstr(R"(\p{L}+|\p{N}| ?[^)"));
  EXPECT_EQ(imported.tokenizer.at("normalizer").dump(), R"({"type":"NFC"})");
}

TEST(GgufTokenizerTest, AddsAnEndTokenWhenTheFileSaysSo) {
  const ImportedTokenizer imported =
      import(tokenizer_builder("gpt-2").boolean("tokenizer.ggml.add_eos_token", true));
  EXPECT_EQ(imported.tokenizer.at("post_processor").at("single").dump(),
            R"([{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}])");
}

TEST(GgufTokenizerTest, RefusesPartsThatDoNotFitTogether) {
  EXPECT_THAT(refusal(GgufBuilder().text("tokenizer.ggml.model", "llama")),
              HasSubstr("tokenizer.ggml.model is 'llama'; only gpt2"));
  EXPECT_THAT(refusal(GgufBuilder().text("tokenizer.ggml.model", "gpt2")),
              HasSubstr("has no tokenizer.ggml.tokens"));
  EXPECT_THAT(refusal(tokenizer_builder("gpt-2").integer("tokenizer.ggml.padding_token_id", 5)),
              HasSubstr("tokenizer.ggml.padding_token_id is 5, but there are 5 tokens"));
  const auto with_tokens = [](const std::vector<std::string>& tokens) {
    return GgufBuilder()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "gpt-2")
        .texts("tokenizer.ggml.tokens", tokens);
  };
  EXPECT_THAT(refusal(with_tokens({"a", "a"})), HasSubstr("tokens holds 'a' twice"));
  EXPECT_THAT(refusal(with_tokens({"a", "\xff"})), HasSubstr("which is not text"));
  EXPECT_THAT(refusal(with_tokens({"a"})), HasSubstr("has no tokenizer.ggml.merges"));
  EXPECT_THAT(refusal(with_tokens({"a"}).texts("tokenizer.ggml.merges", {"a"})),
              HasSubstr("merges holds 'a', whose parts or result are not tokens"));
  EXPECT_THAT(refusal(with_tokens({"a"})
                          .texts("tokenizer.ggml.merges", {})
                          .integers("tokenizer.ggml.token_type", {1, 1})),
              HasSubstr("token_type has 2 entries for 1 tokens"));
  EXPECT_THAT(refusal(with_tokens({"a"})
                          .texts("tokenizer.ggml.merges", {})
                          .boolean("tokenizer.ggml.add_bos_token", true)),
              HasSubstr("adds a begin or end token that it does not name"));
}

}  // namespace
}  // namespace tunebench::model
