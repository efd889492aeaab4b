#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench::hardware {

/// Content of a small system file, empty when it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// The trimmed rest of the first line that starts with `name`, after `separator`:
/// "MemTotal:  12 kB" gives "12 kB" for ("MemTotal", ':').
std::optional<std::string> value_of(std::string_view text, std::string_view name, char separator);

/// Smallest limit and smallest free amount of the memory control groups of this process.
struct MemoryGroups {
  std::optional<std::int64_t> limit_bytes;
  std::optional<std::int64_t> free_bytes;
};
MemoryGroups memory_groups(const std::filesystem::path& root);

}  // namespace tunebench::hardware
