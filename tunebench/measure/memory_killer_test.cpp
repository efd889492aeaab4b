#include "tunebench/measure/memory_killer.h"

#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::measure {
namespace {

class MemoryKillerTest : public testing::Test {
 protected:
  void put(const std::filesystem::path& file, std::string_view text) const {
    write_file_atomically(folder_.path() / file, text);
  }
  [[nodiscard]] std::optional<std::int64_t> kills() const { return memory_kills(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

TEST_F(MemoryKillerTest, ReadsTheOwnCgroupOfVersionTwo) {
  put("proc/self/cgroup", "0::/user.slice/job\n");
  put("sys/fs/cgroup/user.slice/job/memory.events",
      "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
  put("sys/fs/cgroup/memory.events", "oom_kill 99\n");
  EXPECT_EQ(kills(), 2);
}

TEST_F(MemoryKillerTest, ReadsTheTopWhereAContainerSeesAPathOfItsHost) {
  put("proc/self/cgroup", "0::/kubepods/pod1/abc\n");
  put("sys/fs/cgroup/memory.events", "oom 1\noom_kill 1\n");
  EXPECT_EQ(kills(), 1);
}

TEST_F(MemoryKillerTest, ReadsTheMemoryControllerOfVersionOne) {
  put("proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/a\n0::/b\n");
  put("sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  EXPECT_EQ(kills(), 7);
}

TEST_F(MemoryKillerTest, KnowsNothingWhereTheSystemDoesNotTell) {
  EXPECT_EQ(kills(), std::nullopt);
  put("proc/self/cgroup", "0::/\nnot a line\n");
  EXPECT_EQ(kills(), std::nullopt);
  put("sys/fs/cgroup/memory.events", "oom_kill many\n");
  EXPECT_EQ(kills(), std::nullopt);
}

}  // namespace
}  // namespace tunebench::measure
