#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::store {

/// Whether a location is a URL of a PostgreSQL server, not a file.
bool is_postgres(std::string_view location);
/// For messages: a URL without its passwords; the path of a file with odd bytes shown.
std::string shown_location(const std::string& location);
/// The URL with further parameters, those left out that it has already: "name=value", "&" between.
std::string with_parameters(const std::string& url, const std::vector<std::string>& parameters);

}  // namespace tunebench::store
