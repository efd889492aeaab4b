#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tunebench::measure {

/// What is kept of a log at most, before it is compressed: its first and its last half.
inline constexpr std::int64_t kMostLogBytes = std::int64_t{4} * 1024 * 1024;

/// Replaces a child's finished log by FILE.gz: secrets masked, the middle of a long one cut out
/// with a line that says how much. Returns the new file, or an empty path when there was no output
/// (the empty file is removed). When the new file cannot be written, the old one stays: its path,
/// and a warning.
std::filesystem::path keep_log(const std::filesystem::path& log,
                               std::int64_t most_bytes = kMostLogBytes);

/// Frees what keep_log would cut out of a log that is still being written: the disk holds about
/// `most_bytes` of it, however long it gets. Does nothing where the file system has no holes.
void free_middle(const std::filesystem::path& log, std::int64_t most_bytes = kMostLogBytes);

/// The text of a log that keep_log made, or of a plain one. Errors: those of read_gzip.
std::string read_kept_log(const std::filesystem::path& file);

}  // namespace tunebench::measure
