#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/model/gguf_blocks.h"

namespace tunebench::model {

/// A tensor of a GGUF file. `sizes` has the fastest-running dimension first, as the file has it.
struct GgufTensor {
  std::string name;
  GgufType type = GgufType::F32;
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> bytes;
};

/// A mapped GGUF file, version 2 or 3, little-endian. On opening, every count, length and offset is
/// compared with the file's size; metadata stays in the file and is decoded when asked for.
/// Errors: Corrupt with file and what does not fit; Unsupported naming version, byte order or
/// tensor type. Format: github.com/ggml-org/ggml docs/gguf.md.
class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// nullptr when there is none.
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const;
  void release_pages(const GgufTensor& tensor) const;

  /// Metadata; nullopt when the key is absent. Errors: Corrupt when it is of another type.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  /// The shortest number that is the stored float32: 1e-5, not 9.99999974737875e-06.
  [[nodiscard]] std::optional<double> real(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }

  [[nodiscard]] const std::string& label() const { return label_; }
  /// "label: problem".
  [[nodiscard]] Error corrupt(std::string_view problem) const;
  [[nodiscard]] Error unsupported(std::string_view problem) const;

 private:
  class Cursor;
  struct Value {
    std::uint32_t type = 0;
    std::size_t place = 0;  ///< of the value in the file
  };
  [[nodiscard]] const Value* value(std::string_view key) const;
  [[nodiscard]] Error wrong_type(std::string_view key, std::string_view expected) const;
  std::uint64_t read_metadata(Cursor& cursor, std::uint64_t count);
  void read_tensors(Cursor& cursor, std::uint64_t count, std::uint64_t alignment);
  void place_tensors(std::span<const std::uint64_t> offsets, std::size_t start,
                     std::uint64_t alignment);

  MappedFile file_;
  std::string label_;
  std::map<std::string, Value, std::less<>> values_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> tensor_places_;
};

}  // namespace tunebench::model
