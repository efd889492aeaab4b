#include "tunebench/base/text.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench {
namespace {

using testing::ElementsAre;

TEST(TextTest, CellsOfCsvAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("1,2"), "\"1,2\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
}

TEST(TextTest, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(TextTest, JoinUndoesSplit) {
  EXPECT_EQ(join(split("a,,b,", ','), ","), "a,,b,");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(TextTest, TrimTakesSpaceFromBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(TextTest, LowerLeavesOtherLettersAlone) {
  EXPECT_EQ(lower_ascii("AbC-\xC3\x84"), "abc-\xC3\x84");
}

TEST(TextTest, ReadsWholeIntegersOnly) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* bad : {"", " 1", "1 ", "+1", "1.0", "4k", "0x10", "9223372036854775808"}) {
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  }
}

TEST(TextTest, ReadsWholeFiniteRealsOnly) {
  EXPECT_EQ(parse_real("1e-5"), 1e-5);
  EXPECT_EQ(parse_real("1E-5"), 1e-5);
  EXPECT_EQ(parse_real(".5"), 0.5);
  EXPECT_EQ(parse_real("-3"), -3.0);
  for (const char* bad : {"", " 1", "1x", "nan", "inf", "1e999", "1,5", "e5"}) {
    EXPECT_EQ(parse_real(bad), std::nullopt) << bad;
  }
}

TEST(TextTest, ShortestReadsBackAsTheSameNumber) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1e-5), "1e-05");
  EXPECT_EQ(shortest(100000), "100000");
  EXPECT_EQ(shortest(123456789012345.0), "123456789012345");
  EXPECT_EQ(shortest(1e22), "1e+22");
  for (const double value : {1.0 / 3, 2.0 / 3e300, 1e15 + 0.5, 5e-324}) {
    EXPECT_EQ(parse_real(shortest(value)), value);
  }
}

TEST(TextTest, GroupsThousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(TextTest, WritesBytesWithThreeDigits) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1299227607), "1.21 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{141} << 30U), "141 GiB");
  EXPECT_EQ(format_bytes((std::int64_t{1} << 30U) - 1), "1.00 GiB");
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
}

TEST(TextTest, WritesDurationsAsPeopleSayThem) {
  EXPECT_EQ(format_duration(0.0005), "0.5 ms");
  EXPECT_EQ(format_duration(0.35), "350 ms");
  EXPECT_EQ(format_duration(0.9999), "1.0 s");
  EXPECT_EQ(format_duration(8.2), "8.2 s");
  EXPECT_EQ(format_duration(59.99), "1 min 0 s");
  EXPECT_EQ(format_duration(250), "4 min 10 s");
  EXPECT_EQ(format_duration(3599.9), "1 h 0 min");
  EXPECT_EQ(format_duration(7500), "2 h 5 min");
  EXPECT_EQ(format_duration(-8.2), "-8.2 s");
  EXPECT_EQ(format_duration(std::nan("")), "unknown");
}

TEST(TextTest, KnowsValidUtf8) {
  for (const char* good : {"", "abc", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  // A lone continuation, overlong forms, a surrogate, above U+10FFFF, cut off.
  for (const char* bad : {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xE2\x82", "a\xC3"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << printable(bad);
  }
}

TEST(TextTest, WidthCountsCodePoints) {
  EXPECT_EQ(display_width("\xC2\xB1 0.5"), 5U);
  EXPECT_EQ(display_width("\xFFz"), 2U);
}

TEST(TextTest, PrintableStaysOnItsLineAndLeavesColoursAlone) {
  EXPECT_EQ(printable("a\nb"), "a\\x0Ab");
  EXPECT_EQ(printable("\x1B[31mred"), "\\x1B[31mred");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xC2\\x9B");
  EXPECT_EQ(printable("\xE2\x80\xA8"), "\\xE2\\x80\\xA8");
  EXPECT_EQ(printable("\xC3\xA4\xFF"), "\xC3\xA4\\xFF");
}

TEST(TextTest, AnExcerptEndsBetweenCharacters) {
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt("ééé", 3), "ééé");
  EXPECT_EQ(excerpt("éééé", 3), "ééé...");
  EXPECT_EQ(excerpt("a\n\xFF"
                    "b",
                    3),
            "a\\x0A\\xFF...");
  EXPECT_EQ(excerpt(std::string(100000, 'k')).size(), 83U);
}

}  // namespace
}  // namespace tunebench
