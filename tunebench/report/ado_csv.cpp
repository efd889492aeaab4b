#include "tunebench/report/ado_csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"

namespace tunebench::report {
namespace {

/// The order of the published header.
constexpr std::array<std::string_view, 4> kRequired{"model_name", "number_gpus", "model_max_length",
                                                    "batch_size"};
constexpr std::array<std::string_view, 19> kTargets{"gpu_compute_utilization_min",
                                                    "gpu_compute_utilization_avg",
                                                    "gpu_compute_utilization_max",
                                                    "gpu_memory_utilization_min",
                                                    "gpu_memory_utilization_avg",
                                                    "gpu_memory_utilization_max",
                                                    "gpu_power_watts_min",
                                                    "gpu_power_watts_avg",
                                                    "gpu_power_watts_max",
                                                    "gpu_power_percent_min",
                                                    "gpu_power_percent_avg",
                                                    "gpu_power_percent_max",
                                                    "cpu_compute_utilization",
                                                    "cpu_memory_utilization",
                                                    "train_runtime",
                                                    "train_samples_per_second",
                                                    "train_steps_per_second",
                                                    "dataset_tokens_per_second",
                                                    "dataset_tokens_per_second_per_gpu"};
constexpr std::array<std::string_view, 4> kShares{"f_gpu_oom", "f_host_oom", "f_other_error",
                                                  "f_no_error"};

const Json& member(const Json& row, std::string_view name) {
  static const Json absent;
  const Json* value = row.find(name);
  return value == nullptr ? absent : *value;
}

std::string ado_text(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::Null:
      return "";
    case Json::Kind::Boolean:
      return value.as_bool() ? "1" : "0";
    case Json::Kind::Real:
      return std::isfinite(value.as_double()) ? shortest(value.as_double()) : "";
    case Json::Kind::String:
      return value.as_string();
    default:
      return value.dump();
  }
}

/// The required inputs, then those of which a row says more than their default, in the order of the
/// property table.
std::vector<std::string> constitutive(std::span<const Json> rows) {
  std::vector<std::string> names(kRequired.begin(), kRequired.end());
  for (const experiment::Property& property : experiment::properties()) {
    const bool known = std::find(names.begin(), names.end(), property.name) != names.end();
    const bool said = std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
      return !(member(row, property.name) == property.default_value) &&
             !member(row, property.name).is_null();
    });
    if (!known && said && property.ado) {
      names.push_back(property.name);
    }
  }
  return names;
}

/// "model_name.tiny-number_gpus.0-...".
std::string identifier(const Json& row, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    parts.push_back(name + "." + ado_text(member(row, name)));
  }
  return join(parts, "-");
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  }
  return line + "\n";
}

}  // namespace

std::string to_ado_csv(std::span<const Json> aggregate_rows) {
  const std::vector<std::string> inputs = constitutive(aggregate_rows);
  std::vector<std::string> targets(kTargets.begin(), kTargets.end());
  const bool stability =
      std::any_of(aggregate_rows.begin(), aggregate_rows.end(),
                  [](const Json& row) { return !member(row, "f_no_error").is_null(); });
  if (stability) {
    targets.insert(targets.end(), kShares.begin(), kShares.end());
  }
  targets.emplace_back("is_valid");
  std::vector<std::string> header{"", "identifier", "generatorid", "experiment_id"};
  header.insert(header.end(), inputs.begin(), inputs.end());
  header.insert(header.end(), targets.begin(), targets.end());
  std::string text = line_of(header);
  for (std::size_t i = 0; i < aggregate_rows.size(); ++i) {
    const Json& row = aggregate_rows[i];
    std::vector<std::string> cells{std::to_string(i), identifier(row, inputs),
                                   "explicit_grid_sample_generator",
                                   ado_text(member(row, "experiment"))};
    for (std::size_t column = cells.size(); column < header.size(); ++column) {
      cells.push_back(ado_text(member(row, header[column])));
    }
    text += line_of(cells);
  }
  return text;
}

}  // namespace tunebench::report
