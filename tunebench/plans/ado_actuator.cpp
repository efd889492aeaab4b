// actuatorconfiguration: where models and data lie. Meanings: docs/ado.md.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/core.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/model/model_source.h"
#include "tunebench/plans/internal/ado_files.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;
namespace fs = std::filesystem;

std::string with_home(const std::string& path) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

bool is_model_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "config.json", ignored);
}

/// HF_HOME/hub/models--OWNER--NAME/snapshots/REVISION, the newest when there are several.
std::optional<std::string> snapshot_of(const std::string& hf_home, const std::string& hub_id) {
  std::string name = "models--";
  for (const char letter : hub_id) {
    name += letter == '/' ? std::string("--") : std::string(1, letter);
  }
  const fs::path snapshots = fs::path(hf_home) / "hub" / name / "snapshots";
  std::optional<fs::path> best;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(snapshots, ignored)) {
    if (is_model_folder(entry.path()) && (!best || fs::last_write_time(entry.path(), ignored) >
                                                       fs::last_write_time(*best, ignored))) {
      best = entry.path();
    }
  }
  return best ? std::optional(best->string()) : std::nullopt;
}

class ActuatorReader {
 public:
  ActuatorReader(const config::YamlDocument& file, PlanDocument& document, Diagnostics& problems)
      : file_(file), document_(document), problems_(problems) {}

  void read() {
    MappingReader reader(*file_.source, file_.root, "actuator configuration", problems_);
    const YamlNode* actuator = reader.require("actuatorIdentifier");
    const std::vector<std::string> known{"SFTTrainer"};
    if (actuator != nullptr && actuator->text != "SFTTrainer") {
      reader.wrong(*actuator, fmt::format("actuator '{}' is not built in", excerpt(actuator->text)),
                   nearest_word(actuator->text, known) ? did_you_mean(actuator->text, known)
                                                       : "SFTTrainer is");
    }
    read_ado_metadata(reader);
    const YamlNode* parameters = reader.take("parameters");
    reader.finish();
    if (parameters != nullptr && !parameters->is_null()) {
      read_parameters(*parameters);
    }
  }

 private:
  void note(const char* key, const char* why) {
    document_.notes.push_back(std::string(key) + ": " + why);
  }

  void read_parameters(const YamlNode& node) {
    MappingReader reader(*file_.source, node, "parameters", problems_);
    if (reader.boolean("match_exact_dependencies")) {
      note("match_exact_dependencies", "no packages are installed for a measurement");
    }
    if (reader.text("output_dir")) {
      note("output_dir", "trained weights are not kept");
    }
    if (reader.text("aim_db")) {
      note("aim_db", "results go to the store of tunebench");
    }
    if (reader.text("aim_dashboard_url")) {
      note("aim_dashboard_url", "results carry no link");
    }
    if (reader.text("num_tokens_cache_directory")) {
      note("num_tokens_cache_directory", "tokens are counted while training, nothing is cached");
    }
    if (reader.take("cache") != nullptr) {
      note("cache", "no parameter of ado either, though its own example has it");
    }
    const std::optional<std::string> data = reader.text("data_directory");
    const std::optional<std::string> hf_home = reader.text("hf_home");
    const YamlNode* map = reader.take("model_map");
    if (map != nullptr && !map->is_null()) {
      read_model_map(*map);
    }
    reader.finish();
    place_models(hf_home ? with_home(*hf_home) : "");
    if (data) {
      place_datasets(with_home(*data));
    }
  }

  /// name: source, or name: {Vanilla: source, GPTQ-Quantized: source}.
  void read_model_map(const YamlNode& node) {
    if (!node.is_mapping()) {
      problems_.push_back(
          file_.source->mistake(node.place, "'model_map' must be a mapping of model names"));
      return;
    }
    for (const config::YamlMember& member : node.members) {
      if (member.value.is_scalar()) {
        models_[member.key] = member.value.text;
        continue;
      }
      MappingReader formats(*file_.source, member.value, member.key, problems_);
      formats.text("GPTQ-Quantized");
      if (const std::optional<std::string> source = formats.text("Vanilla")) {
        models_[member.key] = *source;
      }
      formats.finish("weights format");
    }
  }

  experiment::GivenValues* input(std::string_view name) {
    const auto found =
        std::ranges::find(document_.inputs, name, &experiment::GivenValues::property);
    return found == document_.inputs.end() ? nullptr : &*found;
  }

  /// A folder that is there takes the place of a model's name.
  void place_models(const std::string& hf_home) {
    experiment::GivenValues* names = input("model_name");
    if (names == nullptr) {
      return;
    }
    for (Json& value : names->values) {
      const std::string name = value.as_string();
      if (const std::optional<std::string> folder = folder_of(name, hf_home)) {
        value = Json(*folder);
        document_.notes.push_back(fmt::format("model {}: {}", name, *folder));
      }
    }
  }

  std::optional<std::string> folder_of(const std::string& name, const std::string& hf_home) const {
    std::string source;
    for (const model::KnownModel& known : model::known_models()) {
      source = known.name == name ? known.source : source;
    }
    const auto mapped = models_.find(name);
    source = mapped == models_.end() ? source : with_home(mapped->second);
    if (source.empty()) {
      return std::nullopt;
    }
    if (is_model_folder(source)) {
      return source;
    }
    return hf_home.empty() ? std::nullopt : snapshot_of(hf_home, source);
  }

  /// DIR/NAME.jsonl takes the place of a synthetic dataset of that name.
  void place_datasets(const std::string& folder) {
    experiment::GivenValues* ids = input("dataset_id");
    if (ids == nullptr && !some_own_dataset()) {
      const Json name = experiment::find_property("dataset_id")->default_value;
      const Json placed = dataset_at(folder, name);
      if (placed != name) {
        document_.inputs.push_back({"dataset_id", {placed}, file_.source->where(file_.root.place)});
      }
    }
    for (Json& value : ids == nullptr ? no_values_ : ids->values) {
      value = dataset_at(folder, value);
    }
    for (space::ExperimentChoice& choice : document_.experiments) {
      for (experiment::GivenValues& given : choice.given) {
        if (given.property == "dataset_id") {
          given.values[0] = dataset_at(folder, given.values[0]);
        }
      }
    }
  }

  [[nodiscard]] bool some_own_dataset() const {
    return std::ranges::any_of(document_.experiments, [](const space::ExperimentChoice& choice) {
      return std::ranges::any_of(choice.given, [](const experiment::GivenValues& given) {
        return given.property == "dataset_id";
      });
    });
  }

  Json dataset_at(const std::string& folder, const Json& name) {
    const fs::path file = fs::path(folder) / (name.as_string() + ".jsonl");
    if (is_there(file)) {
      document_.notes.push_back(fmt::format("dataset {}: {}", name.as_string(), file.string()));
      return Json(file.string());
    }
    document_.notes.push_back(
        fmt::format("dataset {}: made here, {} is not there", name.as_string(), file.string()));
    return name;
  }

  const config::YamlDocument& file_;
  PlanDocument& document_;
  Diagnostics& problems_;
  std::map<std::string, std::string> models_;
  std::vector<Json> no_values_;
};

}  // namespace

void read_ado_actuator(const config::YamlDocument& file, PlanDocument& document,
                       Diagnostics& problems) {
  ActuatorReader(file, document, problems).read();
}

}  // namespace tunebench::plans
