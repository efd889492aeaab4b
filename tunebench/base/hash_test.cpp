#include "tunebench/base/hash.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

// The vectors of FIPS 180-2, appendix B.
TEST(HashTest, IsSha256) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HashTest, AFileHashesAsItsContent) {
  const TemporaryFolder folder;
  std::string content(20'000'000, 'x');
  content[17'000'000] = 'y';
  write_file_atomically(folder.path() / "big", content);
  write_file_atomically(folder.path() / "empty", "");
  EXPECT_EQ(sha256_file_hex(folder.path() / "big"), sha256_hex(content));
  EXPECT_EQ(sha256_file_hex(folder.path() / "empty"), sha256_hex(""));
}

// Of `git hash-object`.
TEST(HashTest, NamesAFileAsGitDoes) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "hello", "hello\n");
  write_file_atomically(folder.path() / "empty", "");
  EXPECT_EQ(git_blob_file_hex(folder.path() / "hello"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_blob_file_hex(folder.path() / "empty"), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(HashTest, AMissingFileIsNotFound) {
  try {
    static_cast<void>(sha256_file_hex("/no/such/file"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_EQ(error.message(), "cannot read /no/such/file: No such file or directory");
  }
}

}  // namespace
}  // namespace tunebench
