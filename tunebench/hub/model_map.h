#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"

namespace tunebench::hub {

/// The formats in which a model map names weights.
inline constexpr std::string_view kVanilla = "Vanilla";
inline constexpr std::string_view kGptqQuantized = "GPTQ-Quantized";

/// Where the weights of a name are: "org/name[@revision]" or a folder; empty: in that format there
/// are none.
struct ModelSources {
  std::string name;
  std::string vanilla;
  std::string gptq;
  std::string where = {};  ///< "models.yaml:3:1"; empty: built in

  [[nodiscard]] const std::string& in_format(std::string_view format) const {
    return format == kGptqQuantized ? gptq : vanilla;
  }
};

/// The names of the reference system and, over them, those of the user.
class ModelMap {
 public:
  /// The 41 names of the reference system; several lead to folders of its own cluster.
  static ModelMap built_in();

  /// Adds {name: {Vanilla: source, GPTQ-Quantized: source}} or {name: source}; a name that is
  /// there already is replaced. Relative folders ("./x", "../x") are those beside the file.
  /// Mistakes are told with their place.
  void add_file(const std::filesystem::path& file, Diagnostics& problems);
  /// The same of the text that such a file held.
  void add_text(std::string_view text, const std::filesystem::path& file, Diagnostics& problems);

  [[nodiscard]] std::span<const ModelSources> all() const { return models_; }
  /// nullptr when there is none of that name.
  [[nodiscard]] const ModelSources* find(std::string_view name) const;

 private:
  std::vector<ModelSources> models_;
};

/// models.yaml in $XDG_CONFIG_HOME/tunebench or ~/.config/tunebench.
std::filesystem::path default_models_file();

/// `file`, or the default file if it is there and none was given.
std::optional<std::filesystem::path> models_file(const std::optional<std::filesystem::path>& file);

/// The names built in, and those of models_file(file). Mistakes are told.
ModelMap read_model_map(const std::optional<std::filesystem::path>& file, Diagnostics& problems);

}  // namespace tunebench::hub
