#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "tunebench/base/files.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::outside {

/// Files that the runs of one trainer share, made at the first run that needs them and removed with
/// this object: our Python modules, texts of synthetic datasets, folders for other versions.
class WorkFiles {
 public:
  WorkFiles() : folder_("tunebench-trainer-") {}

  /// Folder with tunebench_events.py, its sitecustomize.py and the drivers. Errors: Io.
  std::filesystem::path modules();

  struct Data {
    std::filesystem::path file;  ///< JSON lines
    std::string field;           ///< that holds the text
    std::int64_t rows = 0;       ///< that `steps` steps reach, at most those of the dataset
  };
  /// The point's dataset: a file as it is; of a synthetic one, as many entries as are reached,
  /// each as far as model_max_length can reach. Errors: those of resolve_dataset; Io.
  Data data(const experiment::Point& point, std::int64_t steps);

  /// The point's model folder, absolute; `version_4`: as transformers 4 reads it.
  /// Errors: those of resolve_model; Unsupported for a preset.
  std::filesystem::path model(const experiment::Point& point, bool version_4);

 private:
  TemporaryFolder folder_;
  std::map<std::string, Data> data_;
  std::map<std::string, std::filesystem::path> views_;
};

}  // namespace tunebench::outside
