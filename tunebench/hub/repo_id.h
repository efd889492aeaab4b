#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tunebench::hub {

/// A model as a hub names it: "org/name", or "org/name@revision".
struct RepoId {
  std::string name;      ///< "org/name"
  std::string revision;  ///< branch, tag or commit; "main" when none was given

  /// As a user writes it: without "@main".
  [[nodiscard]] std::string text() const;
  /// Its folder in a cache: "models--org--name".
  [[nodiscard]] std::string folder_name() const;
};

/// nullopt when `text` cannot be the name of a model on a hub: two words of letters, digits, '-',
/// '_' and '.' with one slash between them, at most 96 characters, no "--" and no "..".
std::optional<RepoId> parse_repo_id(std::string_view text);

/// "models--org--name" back to "org/name"; nullopt for the folder of anything else.
std::optional<std::string> repo_of_folder(std::string_view folder_name);

/// Whether text is so many lower-case hex digits: a commit has 40.
bool is_hex(std::string_view text, std::size_t digits);

}  // namespace tunebench::hub
