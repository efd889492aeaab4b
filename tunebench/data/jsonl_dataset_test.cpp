#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::message_of;
using testing_support::TestFile;

std::vector<std::string> texts_of(std::string_view content, std::string_view field = "text") {
  const TestFile file("d.jsonl", content);
  const auto dataset = open_jsonl_dataset(file.path(), field);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    texts.push_back(dataset->text(i));
  }
  return texts;
}

/// The message without the folder.
std::string refusal(std::string_view content, std::string_view field = "text") {
  const TestFile file("d.jsonl", content);
  const std::string message = message_of(
      ErrorCode::InvalidInput, [&] { static_cast<void>(open_jsonl_dataset(file.path(), field)); });
  const std::string folder = display_path(file.path().parent_path()) + "/";
  EXPECT_EQ(message.substr(0, folder.size()), folder) << message;
  return message.substr(folder.size());
}

TEST(JsonlDataset, ReadsOneTextALine) {
  EXPECT_THAT(texts_of("{\"text\":\"abc\"}\n{\"text\":\"de\"}\n"), ElementsAre("abc", "de"));
}

// DAT-01
TEST(JsonlDataset, SkipsAByteOrderMarkAtTheStart) {
  EXPECT_THAT(texts_of("\xEF\xBB\xBF{\"text\":\"abc\"}\n{\"text\":\"de\"}\n"),
              ElementsAre("abc", "de"));
}

TEST(JsonlDataset, RefusesAByteOrderMarkFurtherDown) {
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n\xEF\xBB\xBF{\"text\":\"b\"}\n"),
            "d.jsonl:2: has a byte-order mark, which may only stand at the start of the file");
}

// DAT-01
TEST(JsonlDataset, RefusesUtf16ByName) {
  constexpr std::string_view kRemedy =
      "d.jsonl: is UTF-16; convert it with iconv -f UTF-16 -t UTF-8";
  EXPECT_EQ(refusal(std::string_view("\xFF\xFE{\0\"\0", 6)), kRemedy);
  EXPECT_EQ(refusal(std::string_view("\xFE\xFF\0{\0\"", 6)), kRemedy);
}

// DAT-03
TEST(JsonlDataset, TakesCrlfBlankLinesAndALastLineWithoutNewline) {
  EXPECT_THAT(texts_of("{\"text\":\"a\"}\r\n\r\n{\"text\":\"b\"}\n   \n{\"text\":\"c\"}"),
              ElementsAre("a", "b", "c"));
}

// DAT-03
TEST(JsonlDataset, NamesThePhysicalLineOfABrokenRecord) {
  EXPECT_THAT(refusal("{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n{\"text\":\"c\"\n"),
              HasSubstr("d.jsonl:4:"));
}

TEST(JsonlDataset, DoesNotPrintTheRecordItRefuses) {
  const std::string secret(5000, 'x');
  EXPECT_LT(refusal("{\"text\":\"" + secret + "\"\n").size(), 300U);
}

TEST(JsonlDataset, ReadsALineOf64MiB) {
  const std::string text(std::size_t{64} << 20U, 'a');
  const std::vector<std::string> texts = texts_of("{\"text\":\"" + text + "\"}\n");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0] == text);
}

// DAT-04
TEST(JsonlDataset, NamesLineFieldAndTypeFound) {
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"text\":5}\n{\"text\":\"c\"}\n"),
            "d.jsonl:2: field 'text' is an integer, not a string");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"text\":null}\n"),
            "d.jsonl:2: field 'text' is null, not a string");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"txt\":\"b\"}\n"),
            "d.jsonl:2: has no field 'text', only 'txt'");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"text\":[\"b\"]}\n"),
            "d.jsonl:2: field 'text' is an array, not a string");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n\"b\"\n"), "d.jsonl:2: is a string, not an object");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n[]\n"), "d.jsonl:2: is an array, not an object");
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{}\n"), "d.jsonl:2: is an empty object");
}

// DAT-04
TEST(JsonlDataset, TakesTheEmptyText) {
  EXPECT_THAT(texts_of("{\"text\":\"a\"}\n{\"text\":\"\"}\n"), ElementsAre("a", ""));
}

// DAT-04
TEST(JsonlDataset, RefusesAJsonArray) {
  EXPECT_EQ(refusal("[{\"text\":\"a\"},\n {\"text\":\"b\"}]\n"),
            "d.jsonl: is a JSON array, not JSON lines; write one object a line");
}

// DAT-08
TEST(JsonlDataset, RefusesAnEmptyFile) {
  EXPECT_EQ(refusal(""), "d.jsonl: is empty: it has no records");
  EXPECT_EQ(refusal("\n  \n"), "d.jsonl: is empty: it has no records");
}

// DAT-10
TEST(JsonlDataset, DecodesEscapesExactly) {
  EXPECT_THAT(texts_of("{\"a\":\"2020-01-01\",\"text\":\"action: string, when: timestamp[s], "
                       "{\\\"x\\\"\",\"z\":null}\n"
                       "{\"text\":\"\\u00e9\"}\n"
                       "{\"text\":\"\\ud83d\\ude00\"}\n"
                       "{\"text\":\"\\\\n\"}\n"
                       "{\"text\":\"\\/\\b\\f\\n\\r\\t\\u0000|\"}\n"),
              ElementsAre("action: string, when: timestamp[s], {\"x\"", "\xC3\xA9",
                          "\xF0\x9F\x98\x80", "\\n", std::string("/\b\f\n\r\t\0|", 8)));
}

// DAT-10
TEST(JsonlDataset, RefusesALoneSurrogate) {
  EXPECT_THAT(refusal("{\"text\":\"a\"}\n{\"text\":\"\\ud83d\"}\n"), HasSubstr("d.jsonl:2:"));
  EXPECT_THAT(refusal("{\"text\":\"\\ude00\"}\n"), HasSubstr("d.jsonl:1:"));
  EXPECT_THAT(refusal("{\"text\":\"\\ud83d\\u0041\"}\n"), HasSubstr("d.jsonl:1:"));
}

TEST(JsonlDataset, RefusesALineThatIsNotUtf8) {
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"text\":\"\xff\"}\n"), "d.jsonl:2: is not UTF-8");
}

TEST(JsonlDataset, RefusesAFieldGivenTwice) {
  EXPECT_THAT(refusal("{\"text\":\"a\",\"text\":\"b\"}\n"), HasSubstr("text"));
}

TEST(JsonlDataset, ReadsRecordsWithNestedValuesAndReals) {
  EXPECT_THAT(texts_of("{\"meta\":{\"text\":\"no\"},\"text\":\"a\\n\",\"score\":1.5e-3}\n"
                       "{\"n\":-7,\"list\":[1,2],\"text\":\"b\"}\n"),
              ElementsAre("a\n", "b"));
}

TEST(JsonlDataset, TakesTextWhenTheFirstRecordHasNoOutput) {
  EXPECT_THAT(texts_of("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "output"), ElementsAre("a", "b"));
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n{\"output\":\"b\"}\n", "output"),
            "d.jsonl:2: has no field 'text', only 'output'");
  EXPECT_THAT(texts_of("{\"text\":\"a\",\"output\":\"b\"}\n", "output"), ElementsAre("b"));
}

TEST(JsonlDataset, DoesNotReplaceAFieldThatWasNamed) {
  EXPECT_EQ(refusal("{\"text\":\"a\"}\n", "body"), "d.jsonl:1: has no field 'body', only 'text'");
}

TEST(JsonlDataset, HasAFingerprintThatFollowsTheContent) {
  const TestFile one("d.jsonl", "{\"text\":\"a\"}\n");
  const TestFile same("e.jsonl", "{\"text\":\"a\"}\n");
  const TestFile other("d.jsonl", "{\"text\":\"b\"}\n");
  const std::string fingerprint = open_jsonl_dataset(one.path(), "text")->fingerprint();
  EXPECT_EQ(open_jsonl_dataset(same.path(), "text")->fingerprint(), fingerprint);
  EXPECT_NE(open_jsonl_dataset(other.path(), "text")->fingerprint(), fingerprint);
}

TEST(JsonlDataset, NamesAFileThatIsMissing) {
  EXPECT_THAT(message_of(ErrorCode::NotFound,
                         [] { static_cast<void>(open_jsonl_dataset("no/such.jsonl", "text")); }),
              HasSubstr("no/such.jsonl"));
}

}  // namespace
}  // namespace tunebench::data
