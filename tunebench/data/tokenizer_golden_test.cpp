#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {
namespace {

std::vector<std::int32_t> ids_of(const Json& array) {
  std::vector<std::int32_t> ids;
  for (const Json& id : array.as_array()) {
    ids.push_back(static_cast<std::int32_t>(id.as_int()));
  }
  return ids;
}

/// Files of tools/record_tokenizer_golden.py.
class RecordedTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(RecordedTokenizer, GivesTheIdsOfTheReferenceLibrary) {
  const std::filesystem::path folder =
      std::filesystem::path(TB_SOURCE_FOLDER) / "tests" / "golden" / "tokenizer";
  const std::string name = GetParam();
  const auto tokenizer = load_tokenizer(folder / (name + ".tokenizer.json"));
  const Json recorded =
      Json::parse(read_file(folder / (name + ".expected.json")), name + ".expected.json");
  ASSERT_GT(recorded.at("cases").as_array().size(), 20U);
  for (const Json& entry : recorded.at("cases").as_array()) {
    const std::string& text = entry.at("text").as_string();
    EXPECT_EQ(tokenizer->encode(text, false), ids_of(entry.at("ids"))) << text;
    EXPECT_EQ(tokenizer->encode(text, true), ids_of(entry.at("with_special"))) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(, RecordedTokenizer, testing::Values("byte_level", "characters"),
                         [](const auto& given) { return std::string(given.param); });

/// Tokenizers of real models that may lie beside the source folder; too large to keep in it.
class RealTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(RealTokenizer, GivesTheIdsOfTheReferenceLibrary) {
  const std::filesystem::path folder =
      std::filesystem::path(TB_SOURCE_FOLDER).parent_path() / "shared" / "data" / "tokenizers";
  const std::string name = GetParam();
  if (!std::filesystem::exists(folder / (name + ".tokenizer.json.gz"))) {
    GTEST_SKIP() << "no file " << name << ".tokenizer.json.gz beside the source folder";
  }
  const TemporaryFolder unpacked;
  const std::filesystem::path file = unpacked.path() / "tokenizer.json";
  ChildSpec gzip;
  gzip.argv = {"gzip", "-dc", (folder / (name + ".tokenizer.json.gz")).string()};
  gzip.log_file = file;
  Child child = Child::start(gzip);
  const std::optional<ExitStatus> status = child.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(status && status->ok());
  const auto tokenizer = load_tokenizer(file);
  const Json recorded = Json::parse(read_file(folder / (name + ".expected.json")), name);
  ASSERT_GT(recorded.as_array().size(), 50U);
  for (const Json& entry : recorded.as_array()) {
    const std::string& text = entry.at("text").as_string();
    EXPECT_EQ(tokenizer->encode(text, false), ids_of(entry.at("ids"))) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(, RealTokenizer, testing::Values("qwen3", "mistral"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace tunebench::data
