#include "tunebench/measure/kept_log.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tunebench/base/files.h"

namespace tunebench::measure {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class KeptLogTest : public testing::Test {
 protected:
  std::filesystem::path keep(const std::string& text, std::int64_t most = kMostLogBytes) {
    write_file_atomically(log, text);
    return keep_log(log, most);
  }

  TemporaryFolder folder;
  std::filesystem::path log = folder.path() / "a.log";
};

TEST_F(KeptLogTest, KeepsAShortLogWholeAndCompressed) {
  const auto kept = keep("one\ntwo\n");
  EXPECT_EQ(kept, folder.path() / "a.log.gz");
  EXPECT_EQ(read_kept_log(kept), "one\ntwo\n");
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST_F(KeptLogTest, CutsTheMiddleOutOfALongOneAndSaysHowMuch) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += "line " + std::to_string(i) + "\n";
  }
  const std::string kept = read_kept_log(keep(text, 2000));
  EXPECT_THAT(kept, StartsWith("line 0\nline 1\n"));
  EXPECT_THAT(kept, EndsWith("line 1998\nline 1999\n"));
  EXPECT_THAT(kept, HasSubstr("\n[16."));
  EXPECT_THAT(kept, HasSubstr(" KiB cut out here]\nline "));
  EXPECT_LT(kept.size(), 2100U);
}

TEST_F(KeptLogTest, KeepsNoSecret) {
  EXPECT_EQ(read_kept_log(keep("HF_TOKEN=planted\nok\n")), "HF_TOKEN=***\nok\n");
  const std::string line = "x hf_abcdefghijklmnopqrstuvwxyz\n";
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += line;
  }
  for (const std::int64_t most : {1000, 1001, 1010, 1020, 1030}) {
    EXPECT_THAT(read_kept_log(keep(text, most)), Not(HasSubstr("mnop"))) << "cut in a token";
  }
}

TEST_F(KeptLogTest, LeavesNothingOfASilentChild) {
  EXPECT_TRUE(keep("").empty());
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_TRUE(keep_log(folder.path() / "never.log").empty());
}

/// Bytes that the file takes on the disk.
std::int64_t held(const std::filesystem::path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return std::int64_t{status.st_blocks} * 512;
}

TEST_F(KeptLogTest, ALogThatIsStillWrittenHoldsOnlyItsEnds) {
  constexpr std::int64_t kMost = 64 * 1024;
  std::ofstream child(log, std::ios::app);
  std::int64_t largest = 0;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 1000; ++k) {
      child << "line " << i << '.' << k << '\n';
    }
    child.flush();
    free_middle(log, kMost);
    largest = std::max(largest, held(log));
  }
  if (largest > 4 * kMost) {
    GTEST_SKIP() << "this file system has no holes";
  }
  const std::string kept = read_kept_log(keep_log(log, kMost));
  EXPECT_THAT(kept, StartsWith("line 0.0\nline 0.1\n"));
  EXPECT_THAT(kept, EndsWith("line 99.998\nline 99.999\n"));
  EXPECT_THAT(kept, HasSubstr(" cut out here]\nline "));
  EXPECT_THAT(kept, Not(HasSubstr(std::string(1, '\0')))) << "nothing of the hole";
}

TEST_F(KeptLogTest, AShortLogThatIsStillWrittenStaysWhole) {
  write_file_atomically(log, std::string(10'000, 'x') + "\n");
  free_middle(log, 6000);
  EXPECT_EQ(read_file(log), std::string(10'000, 'x') + "\n");
  free_middle(folder.path() / "never.log", 1);
}

}  // namespace
}  // namespace tunebench::measure
