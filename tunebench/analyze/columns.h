#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::analyze {

/// What expressions may name in a row of an export: its columns, the short names of inputs (model,
/// length, batch, gpus) and peak_mem_gib.
class Columns {
 public:
  /// columns: a row; all others have the same members in the same order.
  explicit Columns(const Json& columns);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Null when the row has no value; `name` is one of names().
  [[nodiscard]] Json value(const Json& row, std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// Largest memory of a run in GiB: of the accelerator when it was told, else of the host; null when
/// neither is a number above 0.
Json peak_mem_gib(const Json& device_bytes, const Json& host_bytes);

}  // namespace tunebench::analyze
