#include "tunebench/hub/repo_id.h"

#include <algorithm>

namespace tunebench::hub {

namespace {

constexpr std::string_view kMain = "main";
constexpr std::string_view kFolderPrefix = "models--";

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.';
}

bool is_word(std::string_view text) {
  const auto edge = [](char letter) { return letter == '-' || letter == '.'; };
  return !text.empty() && std::ranges::all_of(text, is_word_letter) && !edge(text.front()) &&
         !edge(text.back()) && text.find("--") == std::string_view::npos &&
         text.find("..") == std::string_view::npos;
}

/// Becomes a path below refs/ and a part of an address.
bool is_revision(std::string_view text) {
  const bool letters = std::ranges::all_of(
      text, [](char letter) { return is_word_letter(letter) || letter == '/'; });
  return !text.empty() && text.size() <= 200 && letters && text.front() != '/' &&
         text.back() != '/' && text.front() != '-' && text.find("..") == std::string_view::npos &&
         text.find("//") == std::string_view::npos && text.find("/.") == std::string_view::npos &&
         text.front() != '.';
}

bool is_repo_name(std::string_view text) {
  constexpr std::size_t kLongest = 96;
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && text.size() <= kLongest &&
         is_word(text.substr(0, slash)) && is_word(text.substr(slash + 1));
}

}  // namespace

std::string RepoId::text() const {
  return revision == kMain ? name : name + "@" + revision;
}

std::string RepoId::folder_name() const {
  const std::size_t slash = name.find('/');
  return std::string(kFolderPrefix) + name.substr(0, slash) + "--" + name.substr(slash + 1);
}

std::optional<RepoId> parse_repo_id(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  const std::string_view revision = at == std::string_view::npos ? kMain : text.substr(at + 1);
  if (!is_repo_name(name) || !is_revision(revision)) {
    return std::nullopt;
  }
  return RepoId{std::string(name), std::string(revision)};
}

std::optional<std::string> repo_of_folder(std::string_view folder_name) {
  if (!folder_name.starts_with(kFolderPrefix)) {
    return std::nullopt;
  }
  std::string name(folder_name.substr(kFolderPrefix.size()));
  const std::size_t dashes = name.find("--");
  if (dashes == std::string::npos) {
    return std::nullopt;
  }
  name.replace(dashes, 2, "/");
  return is_repo_name(name) ? std::optional(name) : std::nullopt;
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char letter) {
           return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
         });
}

}  // namespace tunebench::hub
