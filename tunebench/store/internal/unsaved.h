#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tunebench::store {

/// Records that could not be written to the store, one a line, in "<store>.unsaved.jsonl".
std::filesystem::path unsaved_file(const std::filesystem::path& store);

/// Appends one line and syncs it. When the folder of the store takes nothing either, a file in the
/// system's temporary folder is used. Returns where it is now, or an empty path.
std::filesystem::path keep_unsaved(const std::filesystem::path& store, const std::string& line);

/// Gives each line to `take` and removes the file once all are taken; other processes wait, so no
/// line is lost. Does nothing when there is no file. What `take` throws leaves the file as it is.
void take_unsaved(const std::filesystem::path& store,
                  const std::function<void(const std::vector<std::string>&)>& take);

}  // namespace tunebench::store
