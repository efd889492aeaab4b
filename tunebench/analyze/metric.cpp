#include "tunebench/analyze/metric.h"

#include <cmath>

#include "tunebench/analyze/columns.h"

namespace tunebench::analyze {
namespace {

constexpr std::string_view kPeakName = "peak_mem_gib";

}  // namespace

std::optional<double> Metric::of(const record::Record& record) const {
  if (!record.is_valid()) {
    return std::nullopt;
  }
  const Json value = name == kPeakName ? peak_mem_gib(record.get("device_peak_bytes"),
                                                      record.get("host_peak_bytes"))
                                       : record.get(name);
  if (!value.is_number() || !std::isfinite(value.as_double())) {
    return std::nullopt;
  }
  return value.as_double();
}

std::optional<Metric> find_metric(std::string_view name) {
  if (name == kPeakName) {
    return Metric{std::string(kPeakName), "GiB", false};
  }
  const record::Field* field = record::find_field(name);
  if (field == nullptr || field->better == record::Better::Neither) {
    return std::nullopt;
  }
  return Metric{field->name, field->unit, field->better == record::Better::Higher};
}

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const record::Field& field : record::fields()) {
      if (field.better != record::Better::Neither) {
        all.push_back(field.name);
      }
    }
    all.emplace_back(kPeakName);
    return all;
  }();
  return names;
}

}  // namespace tunebench::analyze
