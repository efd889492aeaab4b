#include "tunebench/cli/model_map_option.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::cli {

namespace {

std::optional<std::filesystem::path> given_models_file(const config::CommandLine& line) {
  const config::GivenOption* given = line.find("models");
  return hub::models_file(given == nullptr ? std::nullopt
                                           : std::optional<std::filesystem::path>(given->value));
}

/// The weights formats of what is asked for: mostly one.
std::set<std::string> formats_of(const campaign::Request& request) {
  std::set<std::string> formats;
  for (const space::ExperimentChoice& choice : request.experiments) {
    if (choice.experiment != nullptr) {
      formats.insert(choice.experiment->weights_format);
    }
  }
  if (formats.empty() && request.experiment != nullptr) {
    formats.insert(request.experiment->weights_format);
  }
  return formats;
}

class ModelPlacing {
 public:
  ModelPlacing(const hub::ModelMap& map, std::vector<std::string>& notes, Diagnostics& problems)
      : map_(map), notes_(notes), problems_(problems) {}

  void place(std::vector<experiment::GivenValues>& given, const std::set<std::string>& formats) {
    for (experiment::GivenValues& one : given) {
      for (Json& value : one.values) {
        if (one.property == "model_name" && value.is_string()) {
          place(one, value, formats);
        }
      }
    }
  }

 private:
  void place(const experiment::GivenValues& given, Json& value,
             const std::set<std::string>& formats) {
    const std::string name = value.as_string();
    const hub::ModelSources* sources = map_.find(name);
    if (sources == nullptr) {
      return;
    }
    const std::string where = sources->where.empty() ? given.where : sources->where;
    std::set<std::string> found;
    for (const std::string& format : formats) {
      found.insert(sources->in_format(format));
    }
    if (sources->where.empty()) {
      // The name stands for its preset; only quantized weights that are here take its place.
      std::error_code ignored;
      const bool here = !formats.contains(std::string(hub::kVanilla)) && found.size() == 1 &&
                        std::filesystem::is_directory(*found.begin(), ignored);
      found = here ? found : std::set<std::string>{};
    } else if (found.contains("")) {
      problems_.push_back({where,
                           fmt::format("model '{}' has no {} weights", printable(name),
                                       join({formats.begin(), formats.end()}, " or ")),
                           ""});
      return;
    } else if (found.size() > 1) {
      problems_.push_back(
          {where,
           fmt::format("model '{}' has other weights for each of the experiments", printable(name)),
           "plan them apart"});
      return;
    }
    if (!found.empty()) {
      value = Json(*found.begin());
      notes_.push_back(fmt::format("model {}: {}", name, *found.begin()));
    }
  }

  const hub::ModelMap& map_;
  std::vector<std::string>& notes_;
  Diagnostics& problems_;
};

}  // namespace

config::OptionSpec models_option() {
  return {.name = "models",
          .value_name = "FILE",
          .help =
              "names of models of your own: {NAME: {Vanilla: org/name or DIR, GPTQ-Quantized: "
              "...}}; default: models.yaml in $XDG_CONFIG_HOME/tunebench or "
              "~/.config/tunebench, if it is there"};
}

hub::ModelMap model_map_of(const config::CommandLine& line, Diagnostics& problems) {
  return hub::read_model_map(given_models_file(line), problems);
}

void place_models(const config::CommandLine& line, const std::map<std::string, std::string>* stored,
                  std::map<std::string, std::string>& texts, campaign::Request& request,
                  std::vector<std::string>& notes, Diagnostics& problems) {
  hub::ModelMap map = hub::ModelMap::built_in();
  std::optional<std::filesystem::path> file = given_models_file(line);
  if (!file && stored != nullptr) {
    file = hub::default_models_file();  // it may be gone, its text is not
  }
  if (file) {
    const std::string name = file->string();
    if (stored != nullptr) {
      // A file that came later does not change what was begun.
      if (const auto kept = stored->find(name); kept != stored->end()) {
        map.add_text(kept->second, *file, problems);
        texts[name] = kept->second;
      }
    } else {
      const std::size_t before = problems.size();
      map.add_file(*file, problems);
      if (problems.size() == before) {
        texts[name] = read_file(*file);
      }
    }
  }
  ModelPlacing placing(map, notes, problems);
  placing.place(request.given, formats_of(request));
  for (space::ExperimentChoice& choice : request.experiments) {
    if (choice.experiment != nullptr) {
      placing.place(choice.given, {choice.experiment->weights_format});
    }
  }
}

}  // namespace tunebench::cli
