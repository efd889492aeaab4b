#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tunebench::store {

/// Boot id and start time of a process, so that a pid used again, or the same pid after a restart
/// of the machine, is not taken for it. nullopt when there is none or it has ended.
std::optional<std::string> process_start(std::int64_t pid, const std::filesystem::path& root = "/");

std::string host_name();

}  // namespace tunebench::store
