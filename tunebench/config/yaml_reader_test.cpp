#include "tunebench/config/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The mapping of a text, and what was found wrong in it.
struct Sheet {
  explicit Sheet(std::string_view text) : documents(parse_yaml(text, "p.yaml", problems)) {}
  MappingReader reader() {
    return MappingReader(*documents.at(0).source, documents[0].root, "search", problems);
  }
  std::vector<std::string> blocks() const {
    std::vector<std::string> texts;
    for (const Diagnostic& problem : problems) {
      texts.push_back(problem.text_block());
    }
    return texts;
  }
  Diagnostics problems;
  std::vector<YamlDocument> documents;
};

TEST(MappingReader, ReadsTypes) {
  Sheet sheet("t: abc\nn: 12\nr: 1e-5\nb: yes\nid: 001\nnull_one:\nw: max\nl: [1, 2]\none: x\n");
  MappingReader reader = sheet.reader();
  EXPECT_EQ(reader.text("t"), "abc");
  EXPECT_EQ(reader.integer("n", 0), 12);
  EXPECT_EQ(reader.real("r"), 1e-5);
  EXPECT_EQ(reader.boolean("b"), true);
  EXPECT_EQ(reader.name("id"), "001");
  EXPECT_EQ(reader.text("null_one"), std::nullopt);
  EXPECT_EQ(reader.word("w", {"min", "max"}), "max");
  EXPECT_EQ(reader.list("l").size(), 2U);
  EXPECT_EQ(reader.texts("one").size(), 1U);
  EXPECT_EQ(reader.text("absent"), std::nullopt);
  reader.finish();
  EXPECT_THAT(sheet.blocks(), IsEmpty());
}

TEST(MappingReader, TellsAllMistakesAtOnce) {
  Sheet sheet("t: 4\nn: x\nr: [1]\nb: maybe\nw: mix\nl: 3\nbacth: 1\n");
  MappingReader reader = sheet.reader();
  reader.text("t");
  reader.integer("n", 1);
  reader.real("r");
  reader.boolean("b");
  reader.word("w", {"min", "max"});
  reader.list("l");
  reader.require("metric");
  reader.take("batch");
  reader.finish();
  EXPECT_THAT(
      sheet.blocks(),
      ElementsAre("p.yaml:1:4: 't' is 4 but must be a text",
                  "p.yaml:2:4: 'n' is 'x' but must be a whole number of at least 1",
                  "p.yaml:3:4: 'r' is a list but must be a number",
                  "p.yaml:4:4: 'b' is 'maybe' but must be true or false",
                  "p.yaml:5:4: 'w' is 'mix' but must be one of min, max - did you mean 'min'?",
                  "p.yaml:6:4: 'l' is 3 but must be a list", "p.yaml:1:1: 'search' has no 'metric'",
                  "p.yaml:7:1: unknown key 'bacth'\n   7 | bacth: 1\n"
                  "     | ^^^^^ did you mean 'batch'?"));
}

TEST(MappingReader, ANodeOfAnotherKindIsOneMistake) {
  Sheet sheet("- a\n");
  MappingReader reader = sheet.reader();
  EXPECT_EQ(reader.require("metric"), nullptr);
  reader.finish();
  EXPECT_THAT(sheet.blocks(),
              ElementsAre("p.yaml:1:1: 'search' is a list but must be a mapping of keys"));
}

}  // namespace
}  // namespace tunebench::config
