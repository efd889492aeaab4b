#include "tunebench/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::data {

std::string Dataset::text_prefix(std::int64_t index, std::int64_t /*bytes*/) const {
  return text(index);
}

std::unique_ptr<Dataset> resolve_dataset(std::string_view dataset_id, std::string_view text_field,
                                         const Tokenizer& tokenizer) {
  std::vector<std::string> known;
  for (const SyntheticSpec& spec : synthetic_datasets()) {
    if (spec.id == dataset_id) {
      return make_synthetic_dataset(spec, tokenizer);
    }
    known.push_back(spec.id);
  }
  const std::string shown = printable(dataset_id);
  if (dataset_id == "vision-384x384-16384plus-entries-4096" ||
      dataset_id == "vision-384x768-16384plus-entries-4096") {
    throw Error(ErrorCode::Unsupported,
                fmt::format("dataset '{}' holds images; only text datasets can be trained", shown));
  }
  const std::filesystem::path path(dataset_id);
  if (!is_there(path)) {
    const std::string hint = did_you_mean(dataset_id, known);
    throw Error(ErrorCode::NotFound,
                fmt::format("no dataset '{}': neither a known id nor a file{}{}", shown,
                            hint.empty() ? "" : " - ", hint));
  }
  if (path.extension() == ".parquet") {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: Parquet is not read; write JSON lines", display_path(path)));
  }
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is a folder, not a JSON lines file", display_path(path)));
  }
  return open_jsonl_dataset(path, text_field);
}

}  // namespace tunebench::data
