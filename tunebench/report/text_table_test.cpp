#include "tunebench/report/text_table.h"

#include <gtest/gtest.h>

namespace tunebench::report {
namespace {

TextTable sample_table() {
  TextTable table;
  table.add_column("name");
  table.add_column("n", TextTable::Align::Right);
  table.add_column("status");
  table.add_row({"modèle", "1,234", "ok"});
  table.add_row({"a", "5"});
  return table;
}

TEST(TextTable, LinesUpByCodePointsWithoutTrailingBlanks) {
  EXPECT_EQ(sample_table().text(),
            "name        n  status\n"
            "modèle  1,234  ok\n"
            "a           5\n");
}

TEST(TextTable, WritesMarkdownAndEscapesPipes) {
  TextTable table = sample_table();
  table.add_row({"a|b", "1", "x"});
  EXPECT_EQ(table.markdown(),
            "| name | n | status |\n"
            "| --- | ---: | --- |\n"
            "| modèle | 1,234 | ok |\n"
            "| a | 5 |  |\n"
            "| a\\|b | 1 | x |\n");
}

TEST(TextTable, MakesACellOneLine) {
  TextTable table;
  table.add_column("x");
  table.add_row({"two\nlines"});
  EXPECT_EQ(table.text(), "x\ntwo\\x0Alines\n");
}

}  // namespace
}  // namespace tunebench::report
