#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/model/safetensors.h"

namespace tunebench::model {

/// One tensor as a header announces it, offsets counted from the start of the file.
struct HeaderEntry {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< by place in the file
  std::size_t bytes = 0;             ///< length field and JSON text
};

/// Reads and checks the header at the start of `file`, the whole content of a file called `label`.
/// What it returns lies inside the file, without holes or overlaps.
/// Errors: Corrupt with the label and the tensor.
/// Format: github.com/huggingface/safetensors#format.
SafetensorsHeader read_safetensors_header(std::string_view file, std::string_view label);

}  // namespace tunebench::model
