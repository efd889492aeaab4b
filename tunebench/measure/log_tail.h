#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tunebench::measure {

/// The last `bytes` bytes of a log, empty when there is none: what a failure is looked for in.
std::string read_log_end(const std::filesystem::path& file, std::int64_t bytes);

/// The last `lines` lines that are not blank, each made printable and cut to 200 characters.
std::string last_lines(std::string_view log, std::size_t lines);

}  // namespace tunebench::measure
