#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tunebench/base/files.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::exchange {

/// A file of tests/golden/ado-store.
inline std::filesystem::path ado_file(std::string_view name) {
  return std::filesystem::path(TB_GOLDEN_FOLDER) / "ado-store" / name;
}

/// Whatever a map does to the columns of history.csv and what ado made of it.
inline ColumnMap history_map() {
  return {.columns = {{"model", "model_name"},
                      {"gpus", "number_gpus"},
                      {"batch", "batch_size"},
                      {"tokens_per_second", "dataset_tokens_per_second"}},
          .constants = {{"model_max_length", "512"}}};
}

inline record::Record example_record(const std::string& run, double rate = 100.5) {
  record::Record record;
  record.id = record::new_record_id();
  record.run = run;
  record.key = "key";
  record.experiment = "finetune_full_benchmark-v1.0.0";
  record.inputs = {{"model_name", "tiny"},
                   {"batch_size", 4},
                   {"number_gpus", 0},
                   {"model_max_length", 32},
                   {"fast_kernels", Json::array({"True", "True", "True"})},
                   {"distributed_backend", "None"}};
  record.trainer = "native";
  record.trainer_version = "0.1.0";
  record.started_at = "2026-12-01T08:30:00Z";
  record.set("tokens_per_s", rate);
  record.environment = Json::object({{"driver", "550"}});
  return record;
}

/// A file in a folder that vanishes with the object.
class TestFile {
 public:
  explicit TestFile(std::string_view text, std::string_view name = "file.csv")
      : path_(folder_.path() / name) {
    write_file_atomically(path_, text);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace tunebench::exchange
