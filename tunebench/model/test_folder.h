#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::model::testing {

/// A Llama of two layers: vocabulary 260, width 16, 4 heads, 2 kv-heads, feed-forward 32; 8,848
/// parameters when tied.
Json m0_config();

/// Tensors with owned bytes.
struct TensorData {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};
/// Small distinct values for every tensor of `spec`, stored as `type`.
std::vector<TensorData> tensors_of(const ModelSpec& spec, StoredType type = StoredType::F32);
TensorData tensor_of(std::string name, std::vector<std::int64_t> shape,
                     StoredType type = StoredType::F32, float start = 0.0F);

void write_tensors(const std::filesystem::path& file, const std::vector<TensorData>& tensors);
void write_json(const std::filesystem::path& file, const Json& value);

/// config.json and model.safetensors of that configuration in `folder`.
void write_folder(const std::filesystem::path& folder, const Json& config,
                  const std::vector<TensorData>& tensors);
/// The same tensors in `count` shards with an index; returns the index.
Json write_shards(const std::filesystem::path& folder, const std::vector<TensorData>& tensors,
                  std::size_t count);

/// A safetensors file of any header text: length, text padded to 8 bytes, data.
std::string raw_safetensors(std::string header, std::string_view data);

/// The message of the Error that `body` throws; "no error" when it throws none.
std::string message_of(const std::function<void()>& body);
ErrorCode code_of(const std::function<void()>& body);

/// Collects warnings while it lives.
class WarningCatcher {
 public:
  WarningCatcher();
  ~WarningCatcher();
  WarningCatcher(const WarningCatcher&) = delete;
  WarningCatcher& operator=(const WarningCatcher&) = delete;
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace tunebench::model::testing
