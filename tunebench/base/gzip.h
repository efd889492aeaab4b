#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tunebench {

/// Writes a .gz file, whole or not at all. Errors: those of write_file_atomically.
void write_gzip(const std::filesystem::path& path, std::string_view text);
/// Errors: those of read_file; Corrupt when it is no whole gzip file.
std::string read_gzip(const std::filesystem::path& path);

/// Version of the library, as it is at run time. (zlib.h takes the name zlib_version for a macro.)
std::string zlib_in_use();

}  // namespace tunebench
