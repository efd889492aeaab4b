#include "tunebench/analyze/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/analyze/testing.h"

namespace tunebench::analyze {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Json> sample_rows() {
  std::vector<Json> rows;
  const auto add = [&](const char* model, int batch, double rate) {
    record::Record record = rate_record({{"model_name", model}, {"batch_size", batch}}, rate);
    if (rate < 0) {
      record.measured.clear();
    } else {
      record.set("host_peak_bytes", std::int64_t{batch} << 30);
    }
    rows.push_back(record::flat(record));
  };
  add("a", 4, 100);
  add("b", 4, 300);
  add("a", 8, 200);
  add("b", 8, -1);
  add("a", 16, 200);
  return rows;
}

std::vector<std::size_t> taken(const SelectionText& text) {
  Diagnostics problems;
  const std::optional<Selection> selection =
      Selection::compile(text, Columns(record::flat(record::Record{})), problems);
  for (const Diagnostic& problem : problems) {
    ADD_FAILURE() << problem.line();
  }
  return selection ? selection->apply(sample_rows()) : std::vector<std::size_t>{};
}

TEST(Selection, NothingAskedTakesAllInOrder) {
  EXPECT_THAT(taken({}), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Selection, WhereTakesColumnsShortNamesAndPeakMemory) {
  EXPECT_THAT(taken({.where = "model == \"a\" and tokens_per_s > 150"}), ElementsAre(2, 4));
  EXPECT_THAT(taken({.where = "model_name == 'b'"}), ElementsAre(1, 3));
  EXPECT_THAT(taken({.where = "peak_mem_gib >= 8"}), ElementsAre(2, 4));
  EXPECT_THAT(taken({.where = "tokens_per_s == null"}), ElementsAre(3));
  EXPECT_THAT(taken({.where = "batch > 1000"}), IsEmpty());
}

TEST(Selection, SortsByExpressionsMissingLastInBothDirections) {
  EXPECT_THAT(taken({.sort = "-tokens_per_s"}), ElementsAre(1, 2, 4, 0, 3));
  EXPECT_THAT(taken({.sort = "tokens_per_s, -batch"}), ElementsAre(0, 4, 2, 1, 3));
  EXPECT_THAT(taken({.sort = "-model,batch"}), ElementsAre(1, 3, 0, 2, 4));
  EXPECT_THAT(taken({.sort = "-tokens_per_s / batch"}), ElementsAre(1, 0, 2, 4, 3));
}

TEST(Selection, TopCountsWithinGroups) {
  EXPECT_THAT(taken({.sort = "-tokens_per_s", .top = 2}), ElementsAre(1, 2));
  EXPECT_THAT(taken({.sort = "-tokens_per_s", .group_by = "model", .top = 1}), ElementsAre(1, 2));
  EXPECT_THAT(taken({.group_by = "min(batch, 8)"}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(taken({.group_by = "batch, model", .top = 1}), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Selection, GroupsHaveNamesAndValues) {
  Diagnostics problems;
  const std::optional<Selection> selection = Selection::compile(
      {.group_by = "model, batch * 2"}, Columns(record::flat(record::Record{})), problems);
  ASSERT_TRUE(selection);
  EXPECT_THAT(selection->group_names(), ElementsAre("model", "batch * 2"));
  EXPECT_EQ(selection->group_of(sample_rows()[0]), (Json::Array{"a", 8}));
}

TEST(Selection, TellsAllMistakes) {
  Diagnostics problems;
  EXPECT_FALSE(Selection::compile(
      {.where = "token_per_s > 1 and", .sort = "-tokens_per_s,bacth", .group_by = "modle"},
      Columns(record::flat(record::Record{})), problems));
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  EXPECT_THAT(
      lines,
      ElementsAre("--where: unknown name 'token_per_s' at column 1 - did you mean 'tokens_per_s'?",
                  "--where: expected a name or a value, found the end at column 20",
                  "--sort: unknown name 'bacth' at column 1 - did you mean 'batch'?",
                  "--group-by: unknown name 'modle' at column 1 - did you mean 'model'?"));
}

TEST(SplitTerms, KeepsParenthesesAndQuotesTogether) {
  EXPECT_THAT(split_terms("a, -b,min(c, d), 'x,y', \"p,q\""),
              ElementsAre("a", "-b", "min(c, d)", "'x,y'", "\"p,q\""));
  EXPECT_THAT(split_terms(""), ElementsAre(""));
}

}  // namespace
}  // namespace tunebench::analyze
