#include "tunebench/exchange/internal/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::exchange {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<CsvRow> rows_of(std::string_view text, char separator = ',') {
  CsvReader reader(text, separator);
  std::vector<CsvRow> rows;
  for (CsvRow row; reader.next(row);) {
    rows.push_back(row);
  }
  return rows;
}

TEST(CsvReader, ReadsQuotesBreaksAndEmptyCells) {
  const auto rows = rows_of("a,\"b,1\",\"say \"\"x\"\"\"\r\n,\"two\r\nlines\",\r\nlast,,x");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].cells, ElementsAre("a", "b,1", "say \"x\""));
  EXPECT_THAT(rows[1].cells, ElementsAre("", "two\r\nlines", ""));
  EXPECT_THAT(rows[2].cells, ElementsAre("last", "", "x"));
  EXPECT_EQ(rows[1].line, 2);
  EXPECT_EQ(rows[2].line, 4);
}

TEST(CsvReader, TakesAByteOrderMarkOtherBreaksAndSeparators) {
  const auto rows = rows_of("\xEF\xBB\xBF\"a\";b\n\n1;2\r3;4", ';');
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].cells, ElementsAre("a", "b"));
  EXPECT_THAT(rows[2].cells, ElementsAre("3", "4"));
  EXPECT_EQ(rows[1].line, 3);
}

TEST(CsvReader, NamesWhatIsWrong) {
  const auto rows = rows_of("a,\"b\"c\nx,\xFF\ny,\"open\nand on");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].problem, HasSubstr("text follows the closing quotes of 'b'"));
  EXPECT_THAT(rows[1].problem, HasSubstr("is not UTF-8"));
  EXPECT_THAT(rows[2].problem, HasSubstr("never close"));
  EXPECT_EQ(rows[2].line, 3);
}

TEST(CsvReader, AnEmptyTextHasNoRow) {
  EXPECT_THAT(rows_of(""), IsEmpty());
  EXPECT_THAT(rows_of("\r\n\n"), IsEmpty());
}

}  // namespace
}  // namespace tunebench::exchange
