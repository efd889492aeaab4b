#include "tunebench/cli/cached_models.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/config/yaml.h"
#include "tunebench/hub/environment.h"

namespace tunebench::cli {

namespace {

/// "license" of the model card's front matter: YAML between two lines of three dashes.
std::string licence_of(const std::filesystem::path& folder) {
  const std::filesystem::path card = folder / "README.md";
  std::error_code failure;
  if (std::filesystem::file_size(card, failure) > (1U << 20U) || failure) {
    return "";
  }
  const std::string text = read_file(card);
  constexpr std::string_view kMark = "---\n";
  const std::size_t end = text.find("\n---", kMark.size() - 1);
  if (!text.starts_with(kMark) || end == std::string::npos) {
    return "";
  }
  Diagnostics ignored;
  const std::vector<config::YamlDocument> documents =
      config::parse_yaml(text.substr(kMark.size(), end + 1 - kMark.size()), "README.md", ignored);
  if (documents.empty()) {
    return "";
  }
  const config::YamlNode* licence = documents.front().root.find("license");
  const config::YamlNode* name = documents.front().root.find("license_name");
  // "other" has its name beside it.
  const bool other = licence != nullptr && licence->text == "other" && name != nullptr;
  const config::YamlNode* shown = other ? name : licence;
  if (shown == nullptr) {
    return "";
  }
  std::vector<std::string> words;
  for (const config::YamlNode& item : shown->items) {
    words.push_back(item.text);
  }
  return excerpt(shown->is_sequence() ? join(words, ", ") : shown->text);
}

bool is_named(const hub::CachedModel& model, const std::string& name) {
  const std::optional<hub::RepoId> id = hub::parse_repo_id(name);
  return id && model.name == id->name &&
         (name.find('@') == std::string::npos || model.commit == id->revision ||
          std::ranges::find(model.refs, id->revision) != model.refs.end());
}

}  // namespace

FolderFacts facts_of(const std::filesystem::path& folder) {
  FolderFacts facts;
  try {
    const std::filesystem::path config = folder / "config.json";
    // Its name is enough: the folder stands beside it.
    facts.spec = model::parse_model_config(read_json_file(config), "config.json");
  } catch (const Error& error) {
    facts.reason = error.message();
  }
  try {
    facts.licence = licence_of(folder);
  } catch (const Error&) {
    facts.licence = "";  // a card that cannot be read tells none
  }
  return facts;
}

std::vector<hub::CachedModel> cached_models_named(const std::vector<std::string>& names) {
  const std::filesystem::path cache = hub::hub_cache();
  std::vector<hub::CachedModel> all = hub::cached_models(cache);
  if (names.empty()) {
    return all;
  }
  std::vector<std::string> known;
  for (const hub::CachedModel& model : all) {
    known.push_back(model.text());
  }
  for (const std::string& name : names) {
    if (std::ranges::none_of(all, [&](const auto& model) { return is_named(model, name); })) {
      const std::string hint = did_you_mean(name, known);
      throw Error(ErrorCode::NotFound,
                  fmt::format("'{}' is not in the Hugging Face cache {}{}", printable(name),
                              display_path(cache), hint.empty() ? "" : "; " + hint));
    }
  }
  std::erase_if(all, [&](const hub::CachedModel& model) {
    return std::ranges::none_of(names,
                                [&](const std::string& name) { return is_named(model, name); });
  });
  return all;
}

}  // namespace tunebench::cli
