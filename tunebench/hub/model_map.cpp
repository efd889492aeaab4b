#include "tunebench/hub/model_map.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/config/yaml.h"
#include "tunebench/config/yaml_reader.h"

namespace tunebench::hub {

namespace {

/// A row of the reference system's config/models.yaml (ado 1.8.12). "P/" is the folder of its
/// cluster where most of the models lay.
struct Row {
  const char* name;
  const char* vanilla;
  const char* gptq;
};

constexpr Row kRows[] = {
    {"allam-1-13b", "P/allam-1-13b-instruct-20240607", ""},
    {"granite-13b-v2", "P/granite-13b-base-v2/step_300000_ckpt", ""},
    {"granite-20b-v2", "P/granite-20b-code-base-v2/step_280000_ckpt/",
     "P/granite-20b-code-base-v2/step_280000_ckpt-gptq/"},
    {"granite-3-8b", "ibm-granite/granite-3.0-8b-base", ""},
    {"granite-3.0-1b-a400m-base", "ibm-granite/granite-3.0-1b-a400m-base", ""},
    {"granite-3.1-2b", "ibm-granite/granite-3.1-2b-base", ""},
    {"granite-3.1-3b-a800m-instruct", "ibm-granite/granite-3.1-3b-a800m-instruct", ""},
    {"granite-3.1-8b-instruct", "ibm-granite/granite-3.1-8b-instruct", ""},
    {"granite-3.3-8b", "ibm-granite/granite-3.3-8b-base", ""},
    {"granite-34b-code-base", "P/granite-34b-code-base/", "P/granite-34b-gptq/"},
    {"granite-3b-1.5", "", ""},
    {"granite-3b-code-base-128k", "ibm-granite/granite-3b-code-base-128k", ""},
    {"granite-4.0-1b", "ibm-granite/granite-4.0-1b", ""},
    {"granite-4.0-350m", "ibm-granite/granite-4.0-350m", ""},
    {"granite-4.0-h-1b", "ibm-granite/granite-4.0-h-1b", ""},
    {"granite-4.0-h-micro", "ibm-granite/granite-4.0-h-micro", ""},
    {"granite-4.0-h-small", "ibm-granite/granite-4.0-h-small", ""},
    {"granite-4.0-h-tiny", "ibm-granite/granite-4.0-h-tiny", ""},
    {"granite-4.0-micro", "ibm-granite/granite-4.0-micro", ""},
    {"granite-7b-base", "ibm-granite/granite-7b-base", "P/granite-7b-base-gtpq/"},
    {"granite-8b-code-base", "P/granite-8b-code-base/", ""},
    {"granite-8b-code-base-128k", "ibm-granite/granite-8b-code-base-128k", ""},
    {"granite-8b-code-instruct", "", "P/granite-8b-code-instruct-gptq/"},
    {"granite-8b-japanese", "P/granite-8b-japanese-base-v1-llama/", ""},
    {"granite-vision-3.2-2b", "ibm-granite/granite-vision-3.2-2b", ""},
    {"hf-tiny-model-private/tiny-random-BloomForCausalLM",
     "hf-tiny-model-private/tiny-random-BloomForCausalLM", ""},
    {"llama-13b", "P/LLaMa/models/hf/13B", ""},
    {"llama-7b", "P/LLaMa/models/hf/7B", "P/LLaMa/models/hf/7B-gptq"},
    {"llama2-70b", "P/LLaMa/models/hf/llama2-70b/", ""},
    {"llama3-70b", "P/LLaMa/models/hf/llama3-70b/", "P/LLaMa/models/hf/llama3-70b-gptq/"},
    {"llama3-8b", "P/LLaMa/models/hf/llama3-8b", ""},
    {"llama3.1-405b", "P/LLaMa/models/hf/llama3.1-405b", "P/LLaMa/models/hf/llama3.1-405b-gptq"},
    {"llama3.1-70b", "P/LLaMa/models/hf/llama3.1-70b", ""},
    {"llama3.1-8b", "P/LLaMa/models/hf/llama3.1-8b", ""},
    {"llama3.2-1b", "meta-llama/Llama-3.2-1B", ""},
    {"llama3.2-3b", "meta-llama/Llama-3.2-3B", ""},
    {"llava-v1.6-mistral-7b", "llava-hf/llava-v1.6-mistral-7b-hf", ""},
    {"mistral-123b-v2", "P/mistral-large/fp16_240620", ""},
    {"mistral-7b-v0.1", "P/mistralai-mistral-7b-v0.1", "P/mistral-7B-v0.3-gptq"},
    {"mixtral-8x7b-instruct-v0.1", "P/Mixtral-8x7B-Instruct-v0.1/",
     "P/mixtral_8x7b_instruct_v0.1_gptq"},
    {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M", ""},
};

constexpr std::string_view kClusterFolder = "/hf-models-pvc";

std::string source_of(std::string_view text) {
  return text.starts_with("P/") ? std::string(kClusterFolder) + std::string(text.substr(1))
                                : std::string(text);
}

/// "./x" as the file means it; other names are what they are.
std::string placed(const std::string& source, const std::filesystem::path& file) {
  if (source.starts_with("./") || source.starts_with("../")) {
    return (std::filesystem::absolute(file).parent_path() / source).lexically_normal().string();
  }
  return source;
}

}  // namespace

ModelMap ModelMap::built_in() {
  ModelMap map;
  for (const Row& row : kRows) {
    map.models_.push_back({row.name, source_of(row.vanilla), source_of(row.gptq)});
  }
  return map;
}

const ModelSources* ModelMap::find(std::string_view name) const {
  const auto found = std::ranges::find(models_, name, &ModelSources::name);
  return found == models_.end() ? nullptr : &*found;
}

void ModelMap::add_file(const std::filesystem::path& file, Diagnostics& problems) {
  const std::vector<config::YamlDocument> documents = config::read_yaml(file.string(), problems);
  for (const config::YamlDocument& document : documents) {
    add_text(document.source->text(), file, problems);
  }
}

void ModelMap::add_text(std::string_view text, const std::filesystem::path& file,
                        Diagnostics& problems) {
  for (const config::YamlDocument& document : config::parse_yaml(text, file.string(), problems)) {
    if (!document.root.is_mapping()) {
      problems.push_back(
          document.source->mistake(document.root.place,
                                   fmt::format("holds {}, expected model names with their sources",
                                               document.root.kind_name()),
                                   "NAME: {Vanilla: org/name}"));
      continue;
    }
    for (const config::YamlMember& member : document.root.members) {
      ModelSources model{.name = member.key, .vanilla = "", .gptq = ""};
      model.where = document.source->where(member.place);
      if (member.value.is_scalar() && !member.value.is_null()) {
        model.vanilla = placed(member.value.text, file);
      } else {
        config::MappingReader formats(*document.source, member.value, member.key, problems);
        model.vanilla = placed(formats.name(kVanilla).value_or(""), file);
        model.gptq = placed(formats.name(kGptqQuantized).value_or(""), file);
        formats.finish("weights format");
      }
      const auto there = std::ranges::find(models_, model.name, &ModelSources::name);
      if (there == models_.end()) {
        models_.push_back(std::move(model));
      } else {
        *there = std::move(model);
      }
    }
  }
}

std::filesystem::path default_models_file() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing sets them
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  const std::filesystem::path folder =
      config != nullptr && *config != '\0'
          ? std::filesystem::path(config)
          : std::filesystem::path(home == nullptr ? "" : home) / ".config";
  return folder / "tunebench" / "models.yaml";
}

std::optional<std::filesystem::path> models_file(const std::optional<std::filesystem::path>& file) {
  const std::filesystem::path usual = default_models_file();
  return file || !is_there(usual) ? file : std::optional(usual);
}

ModelMap read_model_map(const std::optional<std::filesystem::path>& file, Diagnostics& problems) {
  ModelMap map = ModelMap::built_in();
  if (const std::optional<std::filesystem::path> found = models_file(file)) {
    map.add_file(*found, problems);
  }
  return map;
}

}  // namespace tunebench::hub
