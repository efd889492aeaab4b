#pragma once

#include <filesystem>

namespace tunebench {

/// Where this user's data is kept when nothing else is asked for: $XDG_DATA_HOME/tunebench, else
/// ~/.local/share/tunebench. Not made. Errors: InvalidInput when there is no home folder.
/// Source: the XDG base directory specification, which tells to ignore a relative path.
std::filesystem::path user_data_folder();

}  // namespace tunebench
