#include "tunebench/data/model_tokenizer.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/data/testing.h"
#include "tunebench/model/model_source.h"

namespace tunebench::data {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing_support::message_of;

constexpr std::string_view kTwoTokens =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})";

model::ModelSource preset(std::int64_t vocabulary) {
  model::ModelSource source;
  source.spec.name = "tiny";
  source.spec.vocabulary = vocabulary;
  source.spec.max_positions = 512;
  return source;
}

class ModelTokenizer : public testing::Test {
 protected:
  model::ModelSource source(std::int64_t vocabulary = 2) {
    model::ModelSource made = preset(vocabulary);
    made.folder = folder_.path();
    return made;
  }
  void write(std::string_view name, std::string_view content) {
    write_file_atomically(folder_.path() / name, content);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ModelTokenizer, IsTheByteTokenizerForAPreset) {
  EXPECT_EQ(resolve_tokenizer(preset(260))->name(), "byte");
}

TEST_F(ModelTokenizer, IsReadFromTheFolderOfTheModel) {
  write("tokenizer.json", kTwoTokens);
  EXPECT_THAT(resolve_tokenizer(source())->encode("ab", false), testing::ElementsAre(0, 1));
}

TEST_F(ModelTokenizer, IsMissedByName) {
  EXPECT_THAT(
      message_of(ErrorCode::NotFound, [&] { static_cast<void>(resolve_tokenizer(source())); }),
      EndsWith(": has no tokenizer.json; get it from where the model comes from"));
  write("tokenizer.model", "x");
  EXPECT_THAT(
      message_of(ErrorCode::NotFound, [&] { static_cast<void>(resolve_tokenizer(source())); }),
      HasSubstr("; it has tokenizer.model, which is not read"));
}

TEST_F(ModelTokenizer, MayNotHaveMoreIdsThanTheModel) {
  EXPECT_EQ(message_of(ErrorCode::InvalidInput,
                       [] { static_cast<void>(resolve_tokenizer(preset(258))); }),
            "the tokenizer does not match the model: byte has ids up to 258, tiny has a vocabulary "
            "of 258");
  write("tokenizer.json", kTwoTokens);
  EXPECT_THAT(
      message_of(ErrorCode::InvalidInput, [&] { static_cast<void>(resolve_tokenizer(source(1))); }),
      EndsWith("tokenizer.json has ids up to 1, tiny has a vocabulary of 1"));
  EXPECT_NO_THROW(static_cast<void>(resolve_tokenizer(source(49152))));
}

TEST_F(ModelTokenizer, SetsNoLengthLimitWithoutAFileOrANumber) {
  EXPECT_EQ(effective_length(preset(260), 4096), 512);
  EXPECT_EQ(effective_length(source(), 4096), 512);
  write("tokenizer_config.json", R"({"pad_token": "<pad>"})");
  EXPECT_EQ(effective_length(source(), 4096), 512);
  EXPECT_EQ(effective_length(source(), 100), 100);
}

// TOK-10
TEST_F(ModelTokenizer, TakesAHugeLengthAsNoLimit) {
  for (const std::string_view huge : {"1000000000000000019884624838656", "1e30", "512"}) {
    write("tokenizer_config.json", R"({"model_max_length": )" + std::string(huge) + "}");
    EXPECT_FALSE(tokenizer_length_limit(source())) << huge;
    EXPECT_EQ(effective_length(source(), 4096), 512) << huge;
  }
}

TEST_F(ModelTokenizer, CutsAtASmallerLength) {
  write("tokenizer_config.json", R"({"model_max_length": 128})");
  EXPECT_EQ(effective_length(source(), 4096), 128);
  EXPECT_EQ(effective_length(source(), 64), 64);
}

TEST_F(ModelTokenizer, RefusesALengthThatIsNone) {
  write("tokenizer_config.json", R"({"model_max_length": 0})");
  EXPECT_THAT(message_of(ErrorCode::InvalidInput,
                         [&] { static_cast<void>(tokenizer_length_limit(source())); }),
              EndsWith("tokenizer_config.json: model_max_length is 0, not a number from 1 on"));
  write("tokenizer_config.json", R"({"model_max_length": "long"})");
  EXPECT_THAT(message_of(ErrorCode::InvalidInput,
                         [&] { static_cast<void>(tokenizer_length_limit(source())); }),
              EndsWith("model_max_length is a string, not a number from 1 on"));
}

}  // namespace
}  // namespace tunebench::data
