#include "tunebench/store/internal/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tunebench/base/files.h"
#include "tunebench/store/internal/store_testing.h"

namespace tunebench::store {
namespace {

class ProcessTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    write_file_atomically(folder_.path() / path, text);
  }
  [[nodiscard]] std::optional<std::string> start_of(std::int64_t pid) const {
    return process_start(pid, folder_.path());
  }

 private:
  TemporaryFolder folder_;
};

std::string stat_line(const std::string& name, const std::string& state) {
  return "7 (" + name + ") " + state +
         " 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 98765 1000 200\n";
}

TEST_F(ProcessTest, IsBootAndStartTime) {
  file("proc/sys/kernel/random/boot_id", "11-22\n");
  file("proc/7/stat", stat_line("tunebench", "S"));
  EXPECT_EQ(start_of(7), "11-22:98765");
}

TEST_F(ProcessTest, NamesMayHoldSpacesAndParentheses) {
  file("proc/7/stat", stat_line("a) S (b", "R"));
  EXPECT_EQ(start_of(7), ":98765");
}

TEST_F(ProcessTest, DeadAndAbsentProcessesHaveNone) {
  file("proc/7/stat", stat_line("x", "Z"));
  file("proc/8/stat", "8 (cut");
  EXPECT_EQ(start_of(7), std::nullopt);
  EXPECT_EQ(start_of(8), std::nullopt);
  EXPECT_EQ(start_of(9), std::nullopt);
}

TEST(ThisProcessTest, KeepsItsStartAndDiffersFromAnEndedChild) {
  EXPECT_TRUE(process_start(getpid()));
  EXPECT_EQ(process_start(getpid()), process_start(getpid()));
  const pid_t child = start_child([] {});
  ASSERT_EQ(wait_for(child), 0);
  EXPECT_EQ(process_start(child), std::nullopt);
}

}  // namespace
}  // namespace tunebench::store
