#include "tunebench/base/file_content.h"

#include <array>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

struct Signature {
  std::string_view bytes;
  std::string_view kind;
};
/// UTF-32 stands before UTF-16, whose mark is the beginning of its own.
constexpr std::array<Signature, 8> kSignatures = {{
    {std::string_view("\xFF\xFE\0\0", 4), "UTF-32; convert it with iconv -f UTF-32 -t UTF-8"},
    {std::string_view("\0\0\xFE\xFF", 4), "UTF-32; convert it with iconv -f UTF-32 -t UTF-8"},
    {"\xFF\xFE", "UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF", "UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
    {"\x1F\x8B", "compressed with gzip; unpack it first"},
    {"PK\x03\x04", "a zip archive; unpack it first"},
    {"\x28\xB5\x2F\xFD", "compressed with zstd; unpack it first"},
    {"PAR1", "a Parquet file, which is not read"},
}};

/// Text begins with a character below 256, so every second byte of UTF-16 without a mark is 0.
std::string unmarked_utf16(std::string_view content) {
  if (content.size() < 2 || (content[0] == '\0') == (content[1] == '\0')) {
    return "";
  }
  return fmt::format("UTF-16 without a mark; convert it with iconv -f UTF-16{} -t UTF-8",
                     content[0] == '\0' ? "BE" : "LE");
}

}  // namespace

std::string placeholder_kind(std::string_view content) {
  constexpr std::size_t kLooked = 1024;
  const std::string_view start = trim(content.substr(0, kLooked));
  if (start.starts_with("version https://git-lfs.github.com/spec/")) {
    for (const std::string& line : split(start, '\n')) {
      if (line.starts_with("size ")) {
        return fmt::format("a Git LFS pointer (stated size {} bytes)",
                           excerpt(trim(std::string_view(line).substr(5))));
      }
    }
    return "a Git LFS pointer";
  }
  const std::string head = lower_ascii(start.substr(0, 16));
  if (head.starts_with("<!doctype") || head.starts_with("<html") || head.starts_with("<?xml")) {
    return "a web page";
  }
  return "";
}

std::string other_than_text(std::string_view content) {
  for (const Signature& signature : kSignatures) {
    if (content.starts_with(signature.bytes)) {
      return std::string(signature.kind);
    }
  }
  const std::string placeholder = placeholder_kind(content);
  return placeholder.empty() ? unmarked_utf16(content) : placeholder;
}

Json read_json_file(const std::filesystem::path& path) {
  const std::string label = display_path(path);
  const std::string text = read_file(path);
  if (trim(text).empty()) {
    throw Error(ErrorCode::Corrupt, fmt::format("{}: is empty", label));
  }
  if (const std::string kind = other_than_text(text); !kind.empty()) {
    throw Error(ErrorCode::Corrupt, fmt::format("{}: is {}", label, kind));
  }
  return Json::parse(text, label);
}

}  // namespace tunebench
