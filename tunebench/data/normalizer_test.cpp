#include "tunebench/data/normalizer.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"
#include "tunebench/data/json_part.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

std::string normalized(std::string_view step, std::string text) {
  const Json json = Json::parse(step, "test");
  bool at_start = true;
  for (const auto& normalizer : parse_normalizers(JsonPart(json, "t.json", "normalizer"))) {
    normalizer->apply(text, at_start);
  }
  return text;
}

TEST(Normalizer, ComposesAndDecomposes) {
  EXPECT_EQ(normalized(R"({"type":"NFC"})", "e\xCC\x81"), "é");
  EXPECT_EQ(normalized(R"({"type":"NFKD"})", "ﬁé"), "fie\xCC\x81");
}

TEST(Normalizer, LowersStripsAndPrepends) {
  EXPECT_EQ(normalized(R"({"type":"Lowercase"})", "ÀB"), "àb");
  EXPECT_EQ(normalized(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), "a ");
  EXPECT_EQ(normalized(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\t "), "");
  EXPECT_EQ(normalized(R"({"type":"StripAccents"})", "e\xCC\x81x"), "ex");
  EXPECT_EQ(normalized(R"({"type":"Prepend","prepend":"▁"})", "a"), "▁a");
  EXPECT_EQ(normalized(R"({"type":"Prepend","prepend":"▁"})", ""), "");
}

TEST(Normalizer, ReplacesTextsAndExpressions) {
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"String":"."},"content":"!"})", "a.b."),
            "a!b!");
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "})", "a \n b"),
            "a b");
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"String":"x"},"content":""})", "axb"), "ab");
}

TEST(Normalizer, AppliesASequenceInOrder) {
  EXPECT_EQ(normalized(R"({"type":"Sequence","normalizers":[
                {"type":"Prepend","prepend":" "},
                {"type":"Replace","pattern":{"String":" "},"content":"_"}]})",
                       "a b"),
            "_a_b");
}

TEST(Normalizer, RefusesAPatternThatIsNone) {
  EXPECT_EQ(
      testing_support::message_of(
          ErrorCode::InvalidInput,
          [] { normalized(R"({"type":"Replace","pattern":{"String":""},"content":"x"})", "a"); }),
      "t.json: normalizer 'Replace' pattern is an empty text");
}

}  // namespace
}  // namespace tunebench::data
