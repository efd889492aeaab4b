#include "tunebench/measure/log_tail.h"

#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::measure {
namespace {

TEST(LogTailTest, GivesTheLastLinesThatAreNotBlank) {
  EXPECT_EQ(last_lines("one\ntwo\n\n  three  \n\n", 2), "two\nthree");
  EXPECT_EQ(last_lines("one", 20), "one");
  EXPECT_EQ(last_lines("\n\n", 20), "");
}

TEST(LogTailTest, ShowsControlCharactersAndCutsLongLines) {
  EXPECT_EQ(last_lines("a\x1b[31mb", 1).find('\x1b'), std::string::npos);
  const std::string cut = last_lines(std::string(199, 'x') + "\xc3\xa4\xc3\xa4 and more", 1);
  EXPECT_EQ(cut, std::string(199, 'x') + "...");
}

TEST(LogTailTest, ReadsOnlyTheEndOfALongLog) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "log";
  write_file_atomically(file, std::string(1000, 'a') + "end");
  EXPECT_EQ(read_log_end(file, 5), "aaend");
  EXPECT_EQ(read_log_end(file, 5000).size(), 1003U);
}

TEST(LogTailTest, IsEmptyWhereThereIsNoLog) {
  EXPECT_EQ(read_log_end("/nowhere/log", 100), "");
}

}  // namespace
}  // namespace tunebench::measure
