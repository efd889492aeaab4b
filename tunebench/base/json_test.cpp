#include "tunebench/base/json.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

Json parse(std::string_view text) {
  return Json::parse(text, "x.json");
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.message();
  }
  return "accepted";
}

template <typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST(JsonParseTest, ReadsEachKindOfValue) {
  const Json value = parse(R"({"n": null, "b": true, "i": -7, "r": 2.5, "s": "x", "a": [1, [2]],
                               "o": {"k": {}}})");
  EXPECT_TRUE(value.at("n").is_null());
  EXPECT_TRUE(value.at("b").as_bool());
  EXPECT_EQ(value.at("i").as_int(), -7);
  EXPECT_EQ(value.at("r").as_double(), 2.5);
  EXPECT_EQ(value.at("s").as_string(), "x");
  EXPECT_EQ(value.at("a").as_array()[1].as_array()[0].as_int(), 2);
  EXPECT_TRUE(value.at("o").at("k").as_object().empty());
}

TEST(JsonParseTest, KeepsTheOrderOfMembers) {
  EXPECT_EQ(parse(R"({"z": 1, "a": 2, "m": 3})").dump(), R"({"z":1,"a":2,"m":3})");
}

TEST(JsonParseTest, ReadsEscapes) {
  EXPECT_EQ(parse(R"("\u00e4\ud83d\ude00\n\"\\\/")").as_string(),
            "\xC3\xA4\xF0\x9F\x98\x80\n\"\\/");
}

TEST(JsonParseTest, IntegersThatDoNotFitBecomeReal) {
  EXPECT_EQ(parse("9223372036854775807").kind(), Json::Kind::Integer);
  EXPECT_EQ(parse("-9223372036854775808").kind(), Json::Kind::Integer);
  EXPECT_EQ(parse("9223372036854775808").kind(), Json::Kind::Real);
  EXPECT_EQ(parse("9223372036854775808").as_double(), 9223372036854775808.0);
  EXPECT_EQ(parse("-9223372036854775809").kind(), Json::Kind::Real);
  EXPECT_EQ(parse("99999999999999999999999").as_double(), 1e23);
}

TEST(JsonParseTest, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(refusal("{\"a\": 1,\n  \"b\": tru}"), "x.json:2:11: not valid JSON: invalid literal");
  EXPECT_EQ(refusal("[1, 2"), "x.json:1:6: not valid JSON: unexpected end of input; expected ']'");
  EXPECT_THAT(refusal(""), testing::StartsWith("x.json:1:1: not valid JSON: "));
  EXPECT_THAT(refusal("{} {}"), testing::StartsWith("x.json:1:4: not valid JSON: unexpected '{'"));
  EXPECT_THAT(refusal("{'a': 1}"), testing::StartsWith("x.json:1:2: not valid JSON: "));
  EXPECT_THAT(refusal("[1,]"), testing::StartsWith("x.json:1:4: not valid JSON: unexpected ']'"));
  EXPECT_EQ(refusal("[1e999]"), "x.json:1:6: not valid JSON: number overflow parsing '1e999'");
  EXPECT_THAT(refusal("[NaN]"), testing::StartsWith("x.json:1:2: not valid JSON: "));
}

TEST(JsonParseTest, DoesNotRepeatAFileWhoseQuoteIsNotClosed) {
  EXPECT_EQ(refusal("[\"" + std::string(100'000, 'x')),
            "x.json:1:100003: not valid JSON: invalid string: missing closing quote");
}

TEST(JsonParseTest, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(refusal("[\"a\xFF\"]"), testing::StartsWith("x.json:1:4: not valid JSON: "));
  EXPECT_EQ(refusal(std::string_view("{}\0{}", 5)), "x.json:1:3: not valid JSON: a zero byte");
}

TEST(JsonParseTest, RefusesAKeyThatAppearsTwice) {
  EXPECT_EQ(refusal("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"),
            "x.json:3:2: key 'a' appears twice in one object");
  EXPECT_EQ(refusal(R"({"q\"": 1, "q\"": 2})"),
            "x.json:1:12: key 'q\"' appears twice in one object");
  std::string many = "{";
  for (int i = 0; i < 20; ++i) {
    many += "\"k" + std::to_string(i) + "\": [],";
  }
  EXPECT_EQ(refusal(many + "\n\"k7\": 0}"), "x.json:2:1: key 'k7' appears twice in one object");
}

TEST(JsonParseTest, EqualKeysInDifferentObjectsAreFine) {
  EXPECT_EQ(parse(R"([{"a": {"a": 1}}, {"a": 2}])").as_array().size(), 2U);
}

TEST(JsonParseTest, RefusesDeepNestingInsteadOfCrashing) {
  EXPECT_NO_THROW(parse(std::string(900, '[') + std::string(900, ']')));
  EXPECT_EQ(refusal(std::string(1'000'000, '[')),
            "x.json:1:1001: nested more than 1000 levels deep");
}

TEST(JsonParseTest, ColumnsCountCharacters) {
  EXPECT_THAT(refusal("[\"\xC3\xA4\xC3\xA4\", x]"), testing::StartsWith("x.json:1:8: "));
}

TEST(JsonParseTest, ReadsAnObjectOfManyMembers) {
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i) {
    text += (i == 0 ? "\"token" : ",\"token") + std::to_string(i) + "\":" + std::to_string(i);
  }
  const Json value = parse(text + "}");
  EXPECT_EQ(value.as_object().size(), 20'000U);
  EXPECT_EQ(value.at("token19999").as_int(), 19'999);
}

TEST(JsonTest, AWrongKindIsNamed) {
  EXPECT_EQ(message_of([] { static_cast<void>(Json("x").as_int()); }),
            "expected an integer, found a string");
  EXPECT_EQ(message_of([] { static_cast<void>(Json(1.5).as_int()); }),
            "expected an integer, found 1.5");
  EXPECT_EQ(message_of([] { static_cast<void>(Json().as_array()); }),
            "expected an array, found null");
  EXPECT_EQ(message_of([] { static_cast<void>(Json(1).as_bool()); }),
            "expected a boolean, found an integer");
  EXPECT_EQ(message_of([] { static_cast<void>(Json::array().as_double()); }),
            "expected a number, found an array");
}

TEST(JsonTest, NumbersAreReadAcrossKindsWhereNothingIsLost) {
  EXPECT_EQ(Json(3.0).as_int(), 3);
  EXPECT_EQ(Json(3).as_double(), 3.0);
  EXPECT_THROW(static_cast<void>(Json(1e19).as_int()), Error);
  EXPECT_THROW(static_cast<void>(Json(std::nan("")).as_int()), Error);
}

TEST(JsonTest, FindsMembers) {
  Json value = Json::object();
  value.set("a", 1).set("b", 2).set("a", 3);
  EXPECT_EQ(value.dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(Json(1).find("c"), nullptr);
  EXPECT_EQ(message_of([&] { static_cast<void>(value.at("c")); }), "key 'c' is missing");
}

TEST(JsonTest, NullTurnsIntoTheContainerThatIsFilled) {
  Json object;
  object.set("k", nullptr);
  Json array;
  array.push_back("x");
  EXPECT_EQ(object.dump(), R"({"k":null})");
  EXPECT_EQ(array.dump(), R"(["x"])");
  EXPECT_EQ(message_of([&] { array.set("k", 1); }), "expected an object, found an array");
  EXPECT_EQ(message_of([&] { object.push_back(1); }), "expected an array, found an object");
}

TEST(JsonTest, WritesIndented) {
  const Json value = Json::object({{"a", Json::array({1, "x"})}, {"e", Json::array()}});
  EXPECT_EQ(value.dump(2), "{\n  \"a\": [\n    1,\n    \"x\"\n  ],\n  \"e\": []\n}");
}

TEST(JsonTest, WritesNumbersShortAndExact) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1e-5).dump(), "1e-05");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
}

TEST(JsonTest, WritesTextThatReadsBack) {
  const std::string text("\"\\\b\f\n\r\t\0\x01\x7F/\xC3\xA4", 13);
  EXPECT_EQ(parse(Json(text).dump()).as_string(), text);
  EXPECT_EQ(Json("a\nb\x01").dump(), R"("a\nb\u0001")");
}

TEST(JsonTest, BrokenUtf8IsWrittenAsReplacementCharacter) {
  EXPECT_EQ(Json("a\xFFz").dump(), "\"a\xEF\xBF\xBDz\"");
}

TEST(JsonTest, CanonicalTextIsEqualForEqualMeaning) {
  EXPECT_EQ(parse(R"({"b": 1.0, "a": {"y": 0.5, "x": -0.0}})").canonical(),
            R"({"a":{"x":0,"y":0.5},"b":1})");
  EXPECT_EQ(Json(1e18).canonical(), "1000000000000000000");
}

TEST(JsonTest, ATemporaryGivesItsContentAway) {
  const auto document = [] {
    return Json::parse(R"({"a":[1,2],"b":{"c":"a long text, on the heap"}})", "x");
  };
  std::int64_t sum = 0;
  for (const Json& item : document().at("a").as_array()) {
    sum += item.as_int();
  }
  EXPECT_EQ(sum, 3);
  for (const auto& [name, value] : document().at("b").as_object()) {
    EXPECT_EQ(name, "c");
    EXPECT_EQ(value, Json("a long text, on the heap"));
  }
  const std::string& text = document().at("b").at("c").as_string();
  EXPECT_EQ(text, "a long text, on the heap");
  static_assert(std::is_same_v<decltype(document().as_array()), Json::Array>);
  static_assert(std::is_same_v<decltype(document().at("a")), Json>);
}

TEST(JsonTest, EqualityLooksAtMeaning) {
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(parse(R"({"a": 1, "b": [2.0]})"), parse(R"({"b": [2], "a": 1})"));
  EXPECT_FALSE(Json(1) == Json(true));
  EXPECT_FALSE(Json("1") == Json(1));
  EXPECT_FALSE(parse(R"({"a": 1})") == parse(R"({"a": 2})"));
  EXPECT_FALSE(parse(R"({"a": 1})") == parse(R"({"b": 1})"));
  EXPECT_FALSE(Json(9007199254740993) == Json(9007199254740992.0));
}

}  // namespace
}  // namespace tunebench
