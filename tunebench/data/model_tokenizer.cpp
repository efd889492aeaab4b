#include "tunebench/data/model_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"

namespace tunebench::data {
namespace {

/// What to say of a folder that has another kind of tokenizer.
std::string remedy(const std::filesystem::path& folder) {
  for (const std::string_view other : {"tokenizer.model", "vocab.json", "spiece.model"}) {
    if (is_there(folder / other)) {
      return fmt::format(
          "; it has {}, which is not read: save it as tokenizer.json with "
          "transformers' AutoTokenizer",
          other);
    }
  }
  return "; get it from where the model comes from";
}

}  // namespace

std::unique_ptr<Tokenizer> resolve_tokenizer(const model::ModelSource& source) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (source.folder) {
    const std::filesystem::path file = *source.folder / "tokenizer.json";
    if (!is_there(file)) {
      throw Error(ErrorCode::NotFound,
                  fmt::format("{}: has no tokenizer.json{}", display_path(*source.folder),
                              remedy(*source.folder)));
    }
    tokenizer = load_tokenizer(file);
  } else {
    tokenizer = make_byte_tokenizer();
  }
  check_vocabulary(*tokenizer, source.spec);
  return tokenizer;
}

void check_vocabulary(const Tokenizer& tokenizer, const model::ModelSpec& spec) {
  if (tokenizer.vocabulary() > spec.vocabulary) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("the tokenizer does not match the model: {} has ids up to {}, {} has a "
                    "vocabulary of {}",
                    tokenizer.name(), tokenizer.vocabulary() - 1, spec.name, spec.vocabulary));
  }
}

std::optional<std::int64_t> tokenizer_length_limit(const model::ModelSource& source) {
  if (!source.folder) {
    return std::nullopt;
  }
  const std::filesystem::path file = *source.folder / "tokenizer_config.json";
  if (!is_there(file)) {
    return std::nullopt;
  }
  const std::string origin = display_path(file);
  const Json config = read_json_file(file);
  if (!config.is_object()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is {}, expected an object", origin, config.kind_name()));
  }
  const Json* limit = config.find("model_max_length");
  if (limit == nullptr || limit->is_null()) {
    return std::nullopt;
  }
  if (!limit->is_number() || limit->as_double() < 1.0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: model_max_length is {}, not a number from 1 on", origin,
                            limit->is_number() ? limit->dump() : limit->kind_name()));
  }
  if (limit->as_double() >= static_cast<double>(model::longest_sequence(source.spec))) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(limit->as_double());
}

std::int64_t effective_length(const model::ModelSource& source, std::int64_t requested) {
  const std::int64_t length = std::min(requested, model::longest_sequence(source.spec));
  return std::min(length, tokenizer_length_limit(source).value_or(length));
}

}  // namespace tunebench::data
