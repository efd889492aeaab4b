#include "tunebench/base/files.h"

#include <csignal>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

template <typename Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("nothing was thrown");
}

TEST(FilesTest, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "new" / "folder" / "file";
  const std::string bytes("a\0b\n", 4);
  write_file_atomically(path, bytes);
  EXPECT_EQ(read_file(path), bytes);
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
}

TEST(FilesTest, WritingLeavesNoOtherFileBehind) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "1");
  write_file_atomically(folder.path() / "file", "2");
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().filename(), "file");
    ++count;
  }
  EXPECT_EQ(count, 1U);
}

TEST(FilesTest, AFailedWriteKeepsTheOldFileAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "taken";
  write_file_atomically(path / "inside", "old");
  const Error error = error_of([&] { write_file_atomically(path, "new"); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "cannot write " + path.string() + ": Is a directory");
  EXPECT_EQ(read_file(path / "inside"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST(FilesTest, AFileCutOffByALimitIsNotPutInPlace) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  write_file_atomically(path, "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error error = error_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "cannot write " + path.string() + ": File too large");
  EXPECT_EQ(read_file(path), "old");
}

TEST(FilesTest, AFolderThatCannotBeMadeIsNamed) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "");
  const std::filesystem::path below = folder.path() / "file" / "below";
  const Error error = error_of([&] { write_file_atomically(below / "x", ""); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "cannot make folder " + below.string() + ": Not a directory");
}

TEST(FilesTest, ReadsFilesWhoseSizeIsNotKnownBefore) {
  EXPECT_THAT(read_file("/proc/self/status"), testing::HasSubstr("VmPeak"));
}

TEST(FilesTest, AMissingFileIsNotFound) {
  const Error error = error_of([] { static_cast<void>(read_file("/no/such\n/file")); });
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.message(), "cannot read /no/such\\x0A/file: No such file or directory");
}

TEST(FilesTest, AFolderIsNoFile) {
  const TemporaryFolder folder;
  const Error error = error_of([&] { static_cast<void>(read_file(folder.path())); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "cannot read " + folder.path().string() + ": Is a directory");
  EXPECT_THROW(MappedFile{folder.path()}, Error);
}

TEST(FilesTest, MapsAFile) {
  const TemporaryFolder folder;
  const std::string content(100'000, 'x');
  write_file_atomically(folder.path() / "file", content);
  MappedFile file(folder.path() / "file");
  EXPECT_EQ(file.text(), content);
  EXPECT_EQ(file.bytes().size(), content.size());
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.text(), content);
  EXPECT_EQ(moved.path(), folder.path() / "file");
}

TEST(FilesTest, AnEmptyFileMapsToNothing) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "");
  EXPECT_EQ(MappedFile(folder.path() / "file").text(), "");
}

TEST(FilesTest, ReleasedPagesCanBeReadAgain) {
  const TemporaryFolder folder;
  std::string content(50'001, 'x');
  content[20'000] = 'y';
  write_file_atomically(folder.path() / "file", content);
  const MappedFile file(folder.path() / "file");
  file.release_pages(1, 30'000);
  file.release_pages(49'000, 1'000'000);
  file.release_pages(1'000'000, 5);
  EXPECT_EQ(file.text(), content);
}

TEST(FilesTest, ATemporaryFolderGoesWithItsObject) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder("tb-test-");
    path = folder.path();
    EXPECT_THAT(path.filename().string(), testing::StartsWith("tb-test-"));
    write_file_atomically(path / "a" / "b", "x");
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FilesTest, KnowsItsOwnExecutable) {
  EXPECT_EQ(own_executable().filename(), "tb_base_tests");
  EXPECT_TRUE(std::filesystem::exists(own_executable()));
}

TEST(FilesTest, ShowsPathsAsText) {
  EXPECT_EQ(display_path("/data/\xC3\xA4"), "/data/\xC3\xA4");
  EXPECT_EQ(display_path("/data/\xE4"), "/data/\\xE4");
}

}  // namespace
}  // namespace tunebench
