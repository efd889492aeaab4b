#include "tunebench/outside/model_view.h"

#include <system_error>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"

namespace tunebench::outside {
namespace {

Json read_json(const std::filesystem::path& file) {
  return is_there(file) ? Json::parse(read_file(file), display_path(file)) : Json::object();
}

void set_if_absent(Json& object, const char* name, const Json& value) {
  if (object.find(name) == nullptr) {
    object.set(name, value);
  }
}

Json version_4_config(Json config) {
  if (const Json* dtype = config.find("dtype")) {
    set_if_absent(config, "torch_dtype", Json(*dtype));
  }
  const Json* found = config.find("rope_parameters");
  if (found == nullptr || !found->is_object()) {
    return config;
  }
  Json scaling = *found;
  if (const Json* theta = scaling.find("rope_theta")) {
    set_if_absent(config, "rope_theta", Json(*theta));
  }
  const Json* type = scaling.find("rope_type");
  if (type != nullptr && *type != Json("default")) {
    std::erase_if(scaling.as_object(),
                  [](const Json::Member& member) { return member.first == "rope_theta"; });
    set_if_absent(config, "rope_scaling", scaling);
  }
  return config;
}

/// The text of a token that config.json names by its number, as tokenizer.json has it.
const Json* token_text(const Json& tokenizer, const Json* id) {
  const Json* added = tokenizer.find("added_tokens");
  if (added == nullptr || !added->is_array() || id == nullptr) {
    return nullptr;
  }
  for (const Json& token : added->as_array()) {
    const Json* own = token.find("id");
    if (own != nullptr && *own == *id) {
      return token.find("content");
    }
  }
  return nullptr;
}

/// Without them a trainer makes up tokens of its own and another number of embedding rows.
void name_special_tokens(Json& tokenizer_config, const Json& config, const Json& tokenizer) {
  for (const std::string kind : {"bos_token", "eos_token", "pad_token"}) {
    if (const Json* text = token_text(tokenizer, config.find(kind + "_id"))) {
      set_if_absent(tokenizer_config, kind.c_str(), *text);
    }
  }
}

Json version_4_tokenizer(Json config) {
  const Json* kind = config.find("tokenizer_class");
  if (kind == nullptr || *kind == Json("TokenizersBackend")) {
    config.set("tokenizer_class", "PreTrainedTokenizerFast");
  }
  return config;
}

/// A file in place of the link to the model's own.
void replace(const std::filesystem::path& file, const Json& content) {
  std::filesystem::remove(file);
  write_file_atomically(file, content.dump(2));
}

}  // namespace

void make_version_4_view(const std::filesystem::path& model, const std::filesystem::path& view) {
  try {
    std::filesystem::create_directories(view);
    for (const auto& entry : std::filesystem::directory_iterator(model)) {
      std::filesystem::create_symlink(std::filesystem::absolute(entry.path()),
                                      view / entry.path().filename());
    }
    const Json config = read_json(model / "config.json");
    Json tokenizer_config = version_4_tokenizer(read_json(model / "tokenizer_config.json"));
    name_special_tokens(tokenizer_config, config, read_json(model / "tokenizer.json"));
    replace(view / "config.json", version_4_config(config));
    replace(view / "tokenizer_config.json", tokenizer_config);
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorCode::Io, "cannot make a view of model " + display_path(model) + ": " +
                                   error.code().message());
  }
}

}  // namespace tunebench::outside
