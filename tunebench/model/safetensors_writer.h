#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tunebench/model/safetensors.h"

namespace tunebench::model {

/// A tensor to come.
struct AnnouncedTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
};

/// Writes one safetensors file piece by piece, so that only what is at hand is in memory. The file
/// has a temporary name beside `path` until finish(), and is gone when finish() was not reached.
/// Errors: Io with the path and the system's reason. Names used twice and bytes that do not add up
/// to what was announced are our bugs.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path, std::span<const AnnouncedTensor> tensors);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// The next bytes, in the order announced.
  void append(std::span<const std::byte> bytes);
  /// Syncs and gives the file its name.
  void finish();

 private:
  void write_all(std::span<const std::byte> bytes);
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  std::uint64_t expected_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace tunebench::model
