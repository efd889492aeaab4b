#include "tunebench/analyze/figures.h"

#include <cmath>
#include <string>

#include "tunebench/experiment/property.h"

namespace tunebench::analyze {
namespace {

double number_or_zero(const Json* value) {
  return value != nullptr && value->is_number() ? value->as_double() : 0.0;
}

}  // namespace

std::optional<Figure> figure_of(const Json& row, const Columns& columns, std::string_view name) {
  const Json value = columns.value(row, name);
  if (!value.is_number() || !std::isfinite(value.as_double())) {
    return std::nullopt;
  }
  std::string base(name);
  double unit = 1;
  if (name == "peak_mem_gib") {
    const bool device = number_or_zero(row.find("device_peak_bytes")) > 0;
    base = device ? "device_peak_bytes" : "host_peak_bytes";
    unit = 1024.0 * 1024.0 * 1024.0;
  }
  const double low = number_or_zero(row.find(base + "_ci_lo"));
  const double high = number_or_zero(row.find(base + "_ci_hi"));
  return Figure{value.as_double(), (high - low) / 2.0 / unit};
}

experiment::Inputs inputs_of(const Json& row) {
  experiment::Inputs inputs;
  for (const experiment::Property& property : experiment::properties()) {
    const Json* value = row.find(property.name);
    if (value != nullptr && !value->is_null()) {
      inputs.emplace(property.name, *value);
    }
  }
  return inputs;
}

}  // namespace tunebench::analyze
