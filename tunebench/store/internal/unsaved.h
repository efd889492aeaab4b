#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tunebench::store {

/// The file of records, one a line, that could not be written to the store at `location`:
/// "<store>.unsaved.jsonl"; for a URL a file in the user's data folder, named by a hash.
std::filesystem::path unsaved_file(const std::string& location);

/// Appends one line to `file` and syncs it. When its folder takes nothing either, a file of that
/// name in the system's temporary folder is used. Returns where the line is now, or an empty path.
std::filesystem::path keep_unsaved(const std::filesystem::path& file, const std::string& line);

/// Gives each line to `take` and removes the file once all are taken; other processes wait, so no
/// line is lost. Does nothing when there is no file. What `take` throws leaves the file as it is.
void take_unsaved(const std::filesystem::path& file,
                  const std::function<void(const std::vector<std::string>&)>& take);

}  // namespace tunebench::store
