#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tunebench {

/// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a file's content, read in pieces. Errors: Io, NotFound.
std::string sha256_file_hex(const std::filesystem::path& path);

}  // namespace tunebench
