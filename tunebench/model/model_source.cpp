#include "tunebench/model/model_source.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/hub/cache.h"
#include "tunebench/hub/environment.h"
#include "tunebench/hub/model_map.h"
#include "tunebench/model/safetensors.h"
#include "tunebench/model/weight_check.h"

namespace tunebench::model {
namespace {

constexpr std::string_view kSeeModels = "(see: tunebench models)";

std::filesystem::path without_tilde(std::string_view name) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (name.starts_with("~/") && home != nullptr) {
    return std::filesystem::path(home) / name.substr(2);
  }
  return name;
}

ModelSource preset_source(const Preset& preset) {
  return {.spec = preset.spec,
          .folder = std::nullopt,
          .fingerprint = sha256_hex("preset\n" + model_config_json(preset.spec).canonical())};
}

void check_is_model_folder(const std::filesystem::path& folder) {
  if (is_there(folder / "config.json")) {
    return;
  }
  if (is_there(folder / "adapter_config.json")) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: holds an adapter (LoRA or prompt tuning), which this program does "
                            "not train; give the folder of its base model",
                            display_path(folder)));
  }
  throw Error(
      ErrorCode::NotFound,
      fmt::format("{}: has no config.json, so it is not a model folder", display_path(folder)));
}

/// Name, size and modification time of a file.
std::string file_stamp(const std::filesystem::path& path) {
  const auto changed = std::filesystem::last_write_time(path).time_since_epoch();
  return fmt::format("{}\n{}\n{}\n", path.filename().string(), std::filesystem::file_size(path),
                     std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count());
}

ModelSource folder_source(const std::filesystem::path& folder) {
  check_is_model_folder(folder);
  const std::filesystem::path config = folder / "config.json";
  ModelSource source;
  source.spec = parse_model_config(read_json_file(config), display_path(config));
  source.spec.name = display_path(folder);
  source.folder = folder;
  const SafetensorsSet weights = SafetensorsSet::open_folder(folder);
  match_weights(weights, folder, source.spec);

  std::string identity = fmt::format("folder\n{}\n", sha256_hex(read_file(config)));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    if (is_there(folder / name)) {
      identity += fmt::format("{}\n{}\n", name, sha256_hex(read_file(folder / name)));
    }
  }
  identity += weights.fingerprint() + "\n";
  for (const std::filesystem::path& path : weights.paths()) {
    identity += file_stamp(path);
  }
  source.fingerprint = sha256_hex(identity);
  return source;
}

/// A model of the Hugging Face cache under its name there.
ModelSource cached_source(const hub::RepoId& model, const std::filesystem::path& folder) {
  try {
    ModelSource source = folder_source(folder);
    source.spec.name = model.text();
    return source;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) {
      throw;
    }
    throw Error(error.code(), fmt::format("{}; complete it: tunebench models get {}",
                                          error.message(), model.text()));
  }
}

/// Where the weights of a name of the model map are on this machine: the folder it names, or its
/// model in the cache.
std::optional<ModelSource> mapped_source(std::string_view name) {
  static const hub::ModelMap map = hub::ModelMap::built_in();
  const hub::ModelSources* sources = map.find(name);
  if (sources == nullptr || sources->vanilla.empty()) {
    return std::nullopt;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(sources->vanilla, ignored)) {
    return folder_source(sources->vanilla);
  }
  const std::optional<hub::RepoId> model = hub::parse_repo_id(sources->vanilla);
  const auto folder = model ? hub::cached_snapshot(hub::hub_cache(), *model) : std::nullopt;
  return folder ? std::optional(cached_source(*model, *folder)) : std::nullopt;
}

[[noreturn]] void is_not_cached(const hub::RepoId& model) {
  const auto known = std::find_if(known_models().begin(), known_models().end(),
                                  [&](const KnownModel& one) { return one.source == model.name; });
  const std::string shape =
      known == known_models().end() || !known->reason.empty()
          ? ""
          : fmt::format("; its shape with random weights: --model {}", known->name);
  throw Error(ErrorCode::NotFound,
              fmt::format("model '{}' is neither a folder nor in the Hugging Face cache {}; get "
                          "it: tunebench models get {}{}",
                          model.text(), display_path(hub::hub_cache()), model.text(), shape));
}

[[noreturn]] void has_no_preset(const KnownModel& model) {
  const bool unpublished = model.source.empty() && model.reason.starts_with("its shape");
  throw Error(ErrorCode::Unsupported,
              fmt::format("model '{}' is known by name, but {}{} {}", model.name, model.reason,
                          unpublished ? "; give the folder that holds it" : "", kSeeModels));
}

[[noreturn]] void unknown_model(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
  }
  std::string hint = did_you_mean(name, names);
  for (const KnownModel& model : known_models()) {
    names.push_back(model.name);
  }
  if (hint.empty()) {
    hint = did_you_mean(name, names);
  }
  if (hint.empty()) {
    hint = "give a preset or a folder with config.json";
  }
  throw Error(ErrorCode::NotFound,
              fmt::format("unknown model '{}'; {} {}", printable(name), hint, kSeeModels));
}

}  // namespace

ModelSource resolve_model(std::string_view model_name) {
  for (const Preset& preset : presets()) {
    if (preset.name == model_name) {
      return preset_source(preset);
    }
  }
  const std::filesystem::path path = without_tilde(model_name);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return folder_source(path);
  }
  if (std::filesystem::exists(path, ignored)) {
    const bool gguf = path.extension() == ".gguf";
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is a file, expected a model folder{}", display_path(path),
                            gguf ? "; make one of it: tunebench models import FILE FOLDER" : ""));
  }
  const std::optional<hub::RepoId> repository = hub::parse_repo_id(model_name);
  if (repository) {
    if (const auto folder = hub::cached_snapshot(hub::hub_cache(), *repository)) {
      return cached_source(*repository, *folder);
    }
  }
  const auto known =
      std::find_if(known_models().begin(), known_models().end(),
                   [&](const KnownModel& model) { return model.name == model_name; });
  if (known != known_models().end()) {
    if (std::optional<ModelSource> source = mapped_source(model_name)) {
      return std::move(*source);
    }
  }
  if (known != known_models().end()) {
    has_no_preset(*known);
  }
  if (repository) {
    is_not_cached(*repository);
  }
  unknown_model(model_name);
}

}  // namespace tunebench::model
