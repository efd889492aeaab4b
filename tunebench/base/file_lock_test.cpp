#include "tunebench/base/file_lock.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

using Kind = FileLock::Kind;

TEST(FileLockTest, SharedLocksStandTogetherAnExclusiveOneAlone) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "new" / "x.lock";
  {
    const std::optional<FileLock> first = FileLock::try_lock(file, Kind::Shared);
    ASSERT_TRUE(first);
    EXPECT_TRUE(FileLock::try_lock(file, Kind::Shared));
    EXPECT_FALSE(FileLock::try_lock(file, Kind::Exclusive));
  }
  const FileLock alone = FileLock::wait(file, Kind::Exclusive);
  EXPECT_FALSE(FileLock::try_lock(file, Kind::Shared));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(FileLockTest, AFileThatLostItsNameKeepsNobodyOut) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "x.lock";
  const FileLock old = FileLock::wait(file, Kind::Exclusive);
  std::filesystem::remove(file);
  EXPECT_TRUE(FileLock::try_lock(file, Kind::Exclusive));
}

TEST(FileLockTest, AFolderInItsPlaceIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(FileLock::try_lock(folder.path(), Kind::Shared), Error);
}

}  // namespace
}  // namespace tunebench
