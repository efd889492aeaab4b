#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tunebench {

/// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a file's content, read in pieces. Errors: Io, NotFound.
std::string sha256_file_hex(const std::filesystem::path& path);

/// The name that Git gives to a file's content: SHA-1 of "blob SIZE\0" and the content, as 40
/// lower-case hex digits. Errors: Io, NotFound.
std::string git_blob_file_hex(const std::filesystem::path& path);

}  // namespace tunebench
