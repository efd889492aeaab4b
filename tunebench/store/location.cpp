#include "tunebench/store/internal/location.h"

#include <algorithm>
#include <cstdlib>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/base/user_folder.h"
#include "tunebench/store/internal/unsaved.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// user:password@ -> user@
std::string without_user_password(std::string_view url) {
  const std::size_t begin = url.find("://") + 3;
  const std::string_view authority = url.substr(begin, url.find_first_of("/?", begin) - begin);
  const std::size_t at = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) {
    return std::string(url);
  }
  return std::string(url.substr(0, begin + colon)) + std::string(url.substr(begin + at));
}

std::string_view name_of(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

/// What stands after the first "?"; none without one.
std::vector<std::string> parameters_of(std::string_view url) {
  const std::size_t mark = url.find('?');
  return mark == std::string_view::npos ? std::vector<std::string>()
                                        : split(url.substr(mark + 1), '&');
}

}  // namespace

bool is_postgres(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

std::string shown_location(const std::string& location) {
  if (!is_postgres(location)) {
    return display_path(location);
  }
  const std::string url = without_user_password(location);
  std::vector<std::string> parameters = parameters_of(url);
  // Also sslpassword, and the name written with %70 and the like.
  std::erase_if(parameters, [](const std::string& one) {
    const std::string name = lower_ascii(name_of(one));
    return name.find("password") != std::string::npos || name.find('%') != std::string::npos;
  });
  const std::string shown = url.substr(0, url.find('?'));
  return printable(parameters.empty() ? shown : shown + "?" + join(parameters, "&"));
}

std::string with_parameters(const std::string& url, const std::vector<std::string>& parameters) {
  std::vector<std::string> all = parameters_of(url);
  for (const std::string& parameter : parameters) {
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const std::string& one) {
      return name_of(one) == name_of(parameter);
    });
    if (!is_there) {
      all.push_back(parameter);
    }
  }
  std::erase(all, "");
  return url.substr(0, url.find('?')) + (all.empty() ? "" : "?" + join(all, "&"));
}

std::string default_store_location(std::string_view option) {
  if (!option.empty()) {
    return std::string(option);
  }
  if (const char* location = variable("TUNEBENCH_STORE")) {
    return location;
  }
  return (user_data_folder() / "store.db").string();
}

std::filesystem::path folder_of_store(const std::string& location) {
  return is_postgres(location) ? user_data_folder() : std::filesystem::path(location).parent_path();
}

std::filesystem::path unsaved_file(const std::string& location) {
  if (!is_postgres(location)) {
    return location + ".unsaved.jsonl";
  }
  // One file for each store; its name tells neither server nor user.
  constexpr std::size_t kDigits = 16;
  return user_data_folder() /
         ("unsaved-" + sha256_hex(shown_location(location)).substr(0, kDigits) + ".jsonl");
}

}  // namespace tunebench::store
