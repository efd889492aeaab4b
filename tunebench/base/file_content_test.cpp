#include "tunebench/base/file_content.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4976698672\n";

std::string refusal_of(std::string_view content) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "f.json", content);
  try {
    read_json_file(folder.path() / "f.json");
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

// WGT-03
TEST(FileContentTest, KnowsWhatLiesInPlaceOfADownload) {
  EXPECT_EQ(placeholder_kind(kPointer), "a Git LFS pointer (stated size 4976698672 bytes)");
  EXPECT_EQ(placeholder_kind("\n<!DOCTYPE html>"), "a web page");
  EXPECT_EQ(placeholder_kind("{}"), "");
  EXPECT_EQ(placeholder_kind(""), "");
}

// DAT-01
TEST(FileContentTest, KnowsWhatIsNoText) {
  EXPECT_THAT(other_than_text(std::string_view("\xFF\xFE{\0", 4)), StartsWith("UTF-16;"));
  EXPECT_THAT(other_than_text(std::string_view("\xFE\xFF\0{", 4)), StartsWith("UTF-16;"));
  EXPECT_THAT(other_than_text(std::string_view("\xFF\xFE\0\0{\0\0\0", 8)), StartsWith("UTF-32;"));
  EXPECT_THAT(other_than_text(std::string_view("{\0\n\0", 4)), EndsWith("-f UTF-16LE -t UTF-8"));
  EXPECT_THAT(other_than_text(std::string_view("\0{\0\n", 4)), EndsWith("-f UTF-16BE -t UTF-8"));
  EXPECT_THAT(other_than_text("\x1F\x8B\x08"), HasSubstr("gzip"));
  EXPECT_THAT(other_than_text("PK\x03\x04"), HasSubstr("zip"));
  EXPECT_THAT(other_than_text("PAR1"), HasSubstr("Parquet"));
  EXPECT_THAT(other_than_text(kPointer), HasSubstr("Git LFS"));
  for (const std::string_view text : {"", "{", "{}", "\xEF\xBB\xBF{}"}) {
    EXPECT_EQ(other_than_text(text), "") << text;
  }
}

TEST(FileContentTest, ReadsJsonOrSaysWhatTheFileIsInstead) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "f.json", "{\"a\": 1}");
  EXPECT_EQ(read_json_file(folder.path() / "f.json").at("a").as_int(), 1);
  EXPECT_THAT(refusal_of(""), EndsWith("f.json: is empty"));
  EXPECT_THAT(refusal_of(" \n"), EndsWith("f.json: is empty"));
  EXPECT_THAT(refusal_of(kPointer), HasSubstr("f.json: is a Git LFS pointer"));
  EXPECT_THAT(refusal_of("{"), HasSubstr("f.json:1:2: not valid JSON"));
}

}  // namespace
}  // namespace tunebench
