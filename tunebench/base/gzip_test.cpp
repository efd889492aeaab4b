#include "tunebench/base/gzip.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

TEST(GzipTest, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.gz";
  for (const std::string& text :
       {std::string(), std::string("one line\n"), std::string(3'000'000, 'x')}) {
    write_gzip(file, text);
    EXPECT_EQ(read_gzip(file), text);
  }
  EXPECT_LT(std::filesystem::file_size(file), 30'000U);
}

TEST(GzipTest, RefusesADamagedFileByName) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.gz";
  write_gzip(file, "some text that is long enough to be cut");
  const std::string whole = read_file(file);
  for (const std::string& bytes :
       {whole.substr(0, whole.size() - 4), std::string("no gzip"), std::string()}) {
    write_file_atomically(file, bytes);
    try {
      static_cast<void>(read_gzip(file));
      FAIL() << "accepted " << bytes.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Corrupt);
      EXPECT_NE(error.message().find("x.gz"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tunebench
