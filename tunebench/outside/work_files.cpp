#include "tunebench/outside/work_files.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/model_tokenizer.h"
#include "tunebench/model/model_source.h"
#include "tunebench/outside/embedded.h"
#include "tunebench/outside/model_view.h"

namespace tunebench::outside {
namespace {

constexpr const char* kModules[] = {"sitecustomize.py", "tunebench_events.py",
                                    "tunebench_hf_train.py"};
/// Tokens of words are shorter; what a text has beyond is cut anyway.
constexpr std::int64_t kBytesPerToken = 32;

bool is_synthetic(const std::string& id) {
  const std::vector<data::SyntheticSpec>& known = data::synthetic_datasets();
  return std::ranges::find(known, id, &data::SyntheticSpec::id) != known.end();
}

std::unique_ptr<data::Dataset> dataset_of(const experiment::Point& point) {
  const model::ModelSource source = model::resolve_model(point.text("model_name"));
  const std::unique_ptr<data::Tokenizer> tokenizer = data::resolve_tokenizer(source);
  return data::resolve_dataset(point.text("dataset_id"), point.text("dataset_text_field"),
                               *tokenizer);
}

}  // namespace

std::filesystem::path WorkFiles::modules() {
  std::filesystem::path folder = folder_.path() / "python";
  if (!is_there(folder / kModules[0])) {
    for (const char* name : kModules) {
      write_file_atomically(folder / name, embedded_file(name));
    }
  }
  return folder;
}

WorkFiles::Data WorkFiles::data(const experiment::Point& point, std::int64_t steps) {
  const std::string& id = point.text("dataset_id");
  const std::int64_t length = point.integer("model_max_length");
  const std::int64_t reached =
      steps * point.integer("batch_size") * point.integer("gradient_accumulation_steps");
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", id, point.text("model_name"), length, reached);
  const auto [place, added] = data_.try_emplace(key);
  if (!added) {
    return place->second;
  }
  const std::unique_ptr<data::Dataset> dataset = dataset_of(point);
  Data& made = place->second;
  made.rows = std::min(reached, dataset->size());
  if (!is_synthetic(id)) {
    made.file = std::filesystem::absolute(id);
    made.field = point.text("dataset_text_field");
    return made;
  }
  std::string lines;
  for (std::int64_t row = 0; row < made.rows; ++row) {
    lines +=
        Json::object({{"output", dataset->text_prefix(row, (length + 8) * kBytesPerToken)}}).dump();
    lines += '\n';
  }
  made.field = "output";
  made.file = folder_.path() / fmt::format("data-{}.jsonl", data_.size());
  write_file_atomically(made.file, lines);
  return made;
}

std::filesystem::path WorkFiles::model(const experiment::Point& point, bool version_4) {
  const std::string& name = point.text("model_name");
  const model::ModelSource source = model::resolve_model(name);
  if (!source.folder.has_value()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("model '{}' is a preset without files; give a model folder", name));
  }
  const std::filesystem::path folder = std::filesystem::absolute(*source.folder);
  if (!version_4) {
    return folder;
  }
  const auto [place, added] = views_.try_emplace(name);
  if (added) {
    place->second = folder_.path() / fmt::format("model-{}", views_.size());
    make_version_4_view(folder, place->second);
  }
  return place->second;
}

}  // namespace tunebench::outside
