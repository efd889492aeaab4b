#include "tunebench/config/yaml.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(const Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

Json read(std::string_view text) {
  Diagnostics problems;
  const std::vector<YamlDocument> documents = parse_yaml(text, "p.yaml", problems);
  EXPECT_THAT(lines_of(problems), IsEmpty()) << text;
  return documents.empty() ? Json() : documents[0].root.json();
}

std::vector<std::string> refusals(std::string_view text) {
  Diagnostics problems;
  EXPECT_THAT(parse_yaml(text, "p.yaml", problems), IsEmpty()) << text;
  return lines_of(problems);
}

TEST(Yaml, ScalarsFollowTheCoreSchema) {
  EXPECT_EQ(core_scalar("1e-5"), Json(1e-5)) << "a number, also without a point";
  EXPECT_EQ(core_scalar("12"), Json(12));
  EXPECT_EQ(core_scalar("-3.50"), Json(-3.5));
  EXPECT_EQ(core_scalar("+4"), Json(4));
  EXPECT_EQ(core_scalar(".5"), Json(0.5));
  EXPECT_EQ(core_scalar("0x10"), Json(16));
  EXPECT_EQ(core_scalar("0o17"), Json(15));
  EXPECT_EQ(core_scalar("010"), Json("010")) << "8 to some, 10 to others";
  EXPECT_EQ(core_scalar("1_000"), Json("1_000"));
  EXPECT_EQ(core_scalar("2.8.2"), Json("2.8.2"));
  EXPECT_EQ(core_scalar("2025-01-01"), Json("2025-01-01"));
  EXPECT_EQ(core_scalar("12:30"), Json("12:30")) << "no sexagesimals";
  for (const char* word :
       {"yes", "no", "on", "off", "y", "n", "tRue", "nan", "inf", "-", "0x", ".", "e5", "1e400"}) {
    EXPECT_EQ(core_scalar(word), Json(word));
  }
  for (const char* word : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_TRUE(core_scalar(word).is_null());
  }
  EXPECT_EQ(core_scalar("True"), Json(true));
  EXPECT_EQ(core_scalar("FALSE"), Json(false));
  EXPECT_TRUE(std::isnan(core_scalar(".nan").as_double()));
  EXPECT_EQ(core_scalar("-.inf").as_double(), -INFINITY);
}

TEST(Yaml, QuotedScalarsAreText) {
  EXPECT_EQ(read("a: \"2.8\"\nb: 2.8\nc: '1'\nd: !!str 4\ne: !!float 4\n").dump(),
            R"({"a":"2.8","b":2.8,"c":"1","d":"4","e":4})");
}

TEST(Yaml, ReadsBothStylesWithPlaces) {
  Diagnostics problems;
  const auto documents =
      parse_yaml("a: [1, {b: x}]\nlist:\n  - c: |\n      two\n      lines\n", "p.yaml", problems);
  ASSERT_EQ(documents.size(), 1U);
  const YamlNode& root = documents[0].root;
  EXPECT_EQ(root.json().dump(), R"({"a":[1,{"b":"x"}],"list":[{"c":"two\nlines\n"}]})");
  EXPECT_EQ(root.members[1].place.line, 2);
  EXPECT_EQ(root.find("a")->items[1].members[0].place.column, 9);
  EXPECT_EQ(documents[0].source->where(root.find("a")->items[0].place), "p.yaml:1:5");
}

TEST(Yaml, SeveralDocumentsInAFile) {
  Diagnostics problems;
  const auto documents = parse_yaml("# first\na: 1\n---\n---\nb: 2\n...\n", "p.yaml", problems);
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[1].root.members[0].place.line, 5);
  EXPECT_THAT(parse_yaml("", "p.yaml", problems), IsEmpty());
  EXPECT_THAT(lines_of(problems), IsEmpty());
}

TEST(Yaml, AliasesStandForWhatTheyName) {
  EXPECT_EQ(read("a: &x [1, 2]\nb: *x\n").dump(), R"({"a":[1,2],"b":[1,2]})");
  EXPECT_THAT(refusals("a: &x [1, *x]\n"),
              ElementsAre("p.yaml:1:11: an alias stands inside what it names"));
  EXPECT_THAT(refusals("a: *y\n")[0], HasSubstr("p.yaml:1:4: is no YAML"));
}

TEST(Yaml, ABombOfAliasesIsRefusedBeforeItGrows) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) {
      text += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    }
    text += "]\n";
  }
  EXPECT_THAT(refusals(text)[0],
              HasSubstr("more than 200,000 values, aliases counted as what they stand for"));
}

TEST(Yaml, AliasesOfALongTextAreBoundToo) {
  std::string text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 100'000; ++i) {
    text += ",*a";
  }
  EXPECT_THAT(refusals(text + "]\n")[0], HasSubstr("more than 200,000 values"));
}

TEST(Yaml, AFloodOfDoubledKeysIsToldInPart) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "a: 1\n";
  }
  const std::vector<std::string> told = refusals(text);
  ASSERT_EQ(told.size(), 51U);
  EXPECT_THAT(told.back(), HasSubstr("and further keys given twice"));
}

TEST(Yaml, RefusesKeysGivenTwiceWithBothLines) {
  Diagnostics problems;
  EXPECT_THAT(parse_yaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", "p.yaml", problems), IsEmpty());
  EXPECT_THAT(lines_of(problems), ElementsAre("p.yaml:4:3: 'c' is given twice, first in line 3",
                                              "p.yaml:5:1: 'a' is given twice, first in line 1"));
  EXPECT_EQ(problems[0].text_block(),
            "p.yaml:4:3: 'c' is given twice, first in line 3\n   4 |   c: 2\n     |   ^");
}

TEST(Yaml, RefusesWhatIsNoYaml) {
  EXPECT_THAT(refusals("a: [1, 2\n")[0], HasSubstr("is no YAML"));
  EXPECT_THAT(refusals("a: b: c\n")[0], HasSubstr("p.yaml:1:"));
  EXPECT_THAT(refusals("a: \xFF\n"), ElementsAre("p.yaml:1:4: is no UTF-8 text"));
  EXPECT_THAT(refusals(std::string("a: \0b\n", 6)), ElementsAre("p.yaml:1:4: is no UTF-8 text"));
  EXPECT_THAT(refusals("a: !ruby/object x\n")[0], HasSubstr("is not understood here"));
  EXPECT_THAT(refusals("[a, b]: 1\n"), ElementsAre("p.yaml:1:1: a key must be a word"));
  EXPECT_THAT(refusals("x: &x {a: 1}\nb:\n  <<: *x\n")[0], HasSubstr("p.yaml:3:3: merge keys"));
}

TEST(Yaml, RefusesWhatExceedsTheBounds) {
  EXPECT_THAT(refusals(std::string(60, '[') + std::string(60, ']')),
              ElementsAre("p.yaml:1:41: nested deeper than 40 levels"));
  EXPECT_THAT(refusals(std::string(100'000, '['))[0], HasSubstr("nested deeper than 40 levels"));
  EXPECT_THAT(refusals("a: " + std::string(2'000'000, 'x')),
              ElementsAre("p.yaml: is 1.91 MiB long, more than the 1.00 MiB of a plan"));
}

TEST(Yaml, EndsWhereTheParserFindsDocumentsWithoutEnd) {
  EXPECT_THAT(refusals(",\n\tbat}i"), ElementsAre(HasSubstr("1:1: more than 1000 documents")));
}

TEST(Yaml, WritesScalarsThatReadBack) {
  for (const Json& value : {Json("a"),
                            Json("4"),
                            Json("true"),
                            Json("yes"),
                            Json("~"),
                            Json(""),
                            Json("a: b"),
                            Json("- x"),
                            Json("2.8.2"),
                            Json("#"),
                            Json("a\nb\t\"c\"\\"),
                            Json(4),
                            Json(1e-5),
                            Json(0.1),
                            Json(true),
                            Json(),
                            Json("../a/b"),
                            Json("ä"),
                            Json("*x"),
                            Json("%a"),
                            Json("1e3x")}) {
    EXPECT_EQ(read("v: " + yaml_scalar(value)).at("v").dump(), value.dump());
  }
  EXPECT_EQ(yaml_scalar("finetune_full_benchmark-v1.0.0"), "finetune_full_benchmark-v1.0.0");
}

TEST(SourceText, MarksTheWord) {
  const SourceText source("p.yaml", "\xC3\xA4: x\nb\tc\n");
  EXPECT_EQ(source.marked({1, 5}, 9, "wrong").snippet, "   1 | ä: x\n     |    ^");
  EXPECT_EQ(source.marked({2, 3}, 1, "wrong").snippet, "   2 | b c\n     |   ^");
  EXPECT_EQ(source.marked({9, 1}, 1, "wrong").snippet, "");
}

}  // namespace
}  // namespace tunebench::config
