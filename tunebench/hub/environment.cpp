#include "tunebench/hub/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::hub {

namespace {

/// Empty when it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? std::string() : std::string(value);
}

std::filesystem::path without_home_sign(const std::string& text) {
  if (text == "~" || text.starts_with("~/")) {
    return std::filesystem::path(variable("HOME")) /
           text.substr(std::min<std::size_t>(2, text.size()));
  }
  return text;
}

bool is_on(const std::string& value) {
  const std::string text = lower_ascii(value);
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

std::string checked_token(const std::string& text, const std::string& origin) {
  const std::string value(trim(text));
  const bool visible =
      std::ranges::all_of(value, [](char letter) { return letter > ' ' && letter < '\x7f'; });
  if (!visible || value.size() > 4096) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} holds no token of a hub: blanks or control characters within",
                            printable(origin)));
  }
  return value;
}

}  // namespace

std::filesystem::path hf_home() {
  if (const std::string home = variable("HF_HOME"); !home.empty()) {
    return without_home_sign(home);
  }
  const std::string cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? std::filesystem::path(variable("HOME")) / ".cache"
                        : without_home_sign(cache)) /
         "huggingface";
}

std::filesystem::path hub_cache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string cache = variable(name); !cache.empty()) {
      return without_home_sign(cache);
    }
  }
  return hf_home() / "hub";
}

std::string endpoint() {
  std::string text = variable("HF_ENDPOINT");
  while (text.ends_with('/')) {
    text.pop_back();
  }
  if (text.empty()) {
    return "https://huggingface.co";
  }
  if (!text.starts_with("https://") && !text.starts_with("http://")) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("HF_ENDPOINT is '{}', which does not begin with https:// or http://",
                            printable(text)));
  }
  return text;
}

bool offline() {
  const std::string own = variable("HF_HUB_OFFLINE");
  return is_on(own.empty() ? variable("TRANSFORMERS_OFFLINE") : own);
}

Token token(const std::filesystem::path& home) {
  if (is_on(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    return {};
  }
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const std::string value = checked_token(variable(name), name); !value.empty()) {
      return {value, name};
    }
  }
  const std::string path = variable("HF_TOKEN_PATH");
  for (const std::filesystem::path& file :
       {path.empty() ? home / "token" : without_home_sign(path), hf_home() / "token"}) {
    if (!is_there(file)) {
      continue;
    }
    const std::string name = display_path(file);
    if (const std::string value = checked_token(read_file(file), name); !value.empty()) {
      return {value, name};
    }
  }
  return {};
}

}  // namespace tunebench::hub
