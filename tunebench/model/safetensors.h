#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/base/files.h"

namespace tunebench::model {

/// dtypes of safetensors that this program reads: F32, F16, BF16 as weights; others are known by
/// size so that a file holding them can be checked.
enum class StoredType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
std::string_view stored_type_name(StoredType type);
std::int64_t stored_type_bytes(StoredType type);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< inside the mapped file
  std::size_t file = 0;              ///< which of SafetensorsSet::files
  [[nodiscard]] std::int64_t elements() const;
};

/// The tensors of a folder: model.safetensors, or the shards of model.safetensors.index.json.
/// Everything is checked on opening: header length, JSON, duplicate names, dtype, offsets against
/// shape and file size, holes and overlaps, index against shards; nothing is allocated from an
/// unchecked number.
/// Errors: NotFound, Corrupt naming file and tensor; a Git LFS pointer or HTML in place of weights
/// is named as such; pytorch_model.bin alone is Unsupported with the way to convert.
class SafetensorsSet {
 public:
  static SafetensorsSet open_folder(const std::filesystem::path& folder);
  static SafetensorsSet open_file(const std::filesystem::path& file);

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// nullptr when there is none.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// The files behind the tensors; StoredTensor::file is a place in this list.
  [[nodiscard]] std::vector<std::filesystem::path> paths() const;
  /// Hash of all header bytes and file sizes.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }

  /// Converts `tensor` to float32 into `out` (out.size() == elements()) and releases its pages.
  void read_float32(const StoredTensor& tensor, std::span<float> out) const;

 private:
  void add_file(const std::filesystem::path& path);
  void check_index(std::span<const std::pair<std::string, std::string>> weights,
                   std::span<const std::string> shards, const std::string& label) const;

  std::vector<std::shared_ptr<MappedFile>> files_;  // shared: a copied set keeps its mappings
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::string fingerprint_;
};

/// What to write; `bytes` must stay alive during the call.
struct TensorToStore {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};
/// Writes one safetensors file atomically with metadata {"format": "pt"}.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToStore> tensors);

float float_from_half(std::uint16_t bits);
std::uint16_t bfloat16_from_float(float value);  ///< round to nearest even; NaN stays NaN
std::uint16_t half_from_float(float value);      ///< round to nearest even
float float_from_bfloat16(std::uint16_t bits);

}  // namespace tunebench::model
