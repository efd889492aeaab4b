// The system refuses memory to a trainer: that is a result, and everybody else goes on.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;

TEST(MemoryBound, OutOfMemoryIsARowAndTheStoreGoesOn) {
  Session session;
  session.limit_memory(1'000'000);
  const Said refused = session.run(
      {"run", "-m", "smollm2-135m", "-l", "128", "-b", "1", "--max-steps", "1", "--repeats", "1"});
  EXPECT_EQ(refused.exit.code, 3) << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("oom_host: "));
  EXPECT_THAT(refused.out, HasSubstr("GiB"));
  const Said fits = session.run(
      {"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "3", "--repeats", "1"});
  EXPECT_EQ(fits.exit.code, 0) << fits.err;
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U) << "no second attempt after a lack of memory";
  EXPECT_EQ(rows.as_array()[0].at("status").as_string(), "oom_host");
  EXPECT_GT(rows.as_array()[0].at("needed_bytes").as_int(), 1'000'000'000);
  EXPECT_EQ(rows.as_array()[1].at("status").as_string(), "ok");
}

/// A control group with a bound on memory, of the old kind or the new; none where none can be made.
class BoundedGroup {
 public:
  explicit BoundedGroup(std::int64_t bytes) {
    const std::string name = "tunebench-test-" + std::to_string(::getpid());
    const std::filesystem::path old_tree = "/sys/fs/cgroup/memory";
    std::error_code failure;
    const bool is_old = std::filesystem::exists(old_tree / "memory.limit_in_bytes", failure);
    folder_ = (is_old ? old_tree : "/sys/fs/cgroup") / name;
    std::filesystem::create_directory(folder_, failure);
    std::ofstream limit(folder_ / (is_old ? "memory.limit_in_bytes" : "memory.max"));
    made_ = !failure && static_cast<bool>(limit << bytes << std::flush);
    std::ofstream(folder_ / (is_old ? "memory.memsw.limit_in_bytes" : "memory.swap.max"))
        << (is_old ? bytes : 0);
  }
  ~BoundedGroup() {
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
  }
  BoundedGroup(const BoundedGroup&) = delete;
  BoundedGroup& operator=(const BoundedGroup&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  bool made_ = false;
};

TEST(MemoryBound, TheKernelsMemoryKillerIsARowAndTheStoreGoesOn) {
  const BoundedGroup group(400'000'000);
  if (!group.made()) {
    GTEST_SKIP() << "no control group with a memory bound can be made here";
  }
  Session session;
  session.set_control_group(group.folder());
  const std::vector<std::string> large{"run", "-m", "smollm2-135m", "-l", "128",       "-b",
                                       "1",   "-q", "--max-steps",  "1",  "--repeats", "1"};
  const Said refused = session.run(large);
  EXPECT_EQ(refused.exit.code, 3) << refused.err;
  std::vector<std::string> forced = large;
  forced.emplace_back("--force");
  const Said killed = session.run(forced);
  EXPECT_EQ(killed.exit.code, 3) << killed.err;
  const Said fits = session.run(
      {"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "3", "--repeats", "1"});
  EXPECT_EQ(fits.exit.code, 0) << fits.err;
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 3U) << "no second attempt after a lack of memory";
  EXPECT_EQ(rows.as_array()[0].at("status").as_string(), "oom_host");
  EXPECT_GT(rows.as_array()[0].at("needed_bytes").as_int(), 400'000'000);
  EXPECT_EQ(rows.as_array()[1].at("status").as_string(), "oom_host");
  EXPECT_THAT(rows.as_array()[1].at("reason").as_string(), HasSubstr("memory"));
  EXPECT_EQ(rows.as_array()[2].at("status").as_string(), "ok");
}

}  // namespace
}  // namespace tunebench::integration
