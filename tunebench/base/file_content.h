#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tunebench/base/json.h"

namespace tunebench {

/// What lies in place of a file that was not downloaded, as far as its first bytes tell: "a Git LFS
/// pointer (stated size 5 bytes)", "a web page"; empty when neither.
std::string placeholder_kind(std::string_view content);

/// What a file is that should be UTF-8 text and is not, as far as its first bytes tell: the above,
/// an archive, Parquet, UTF-16 (with what to do about it); empty when nothing speaks against text.
std::string other_than_text(std::string_view content);

/// Reads a whole JSON file. Errors: those of read_file; Corrupt when it is empty or other than
/// text; those of Json::parse.
Json read_json_file(const std::filesystem::path& path);

}  // namespace tunebench
