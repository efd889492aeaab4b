#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/search/history.h"
#include "tunebench/search/searcher.h"
#include "tunebench/search/space.h"

namespace tunebench::test_support {

/// A table of tests/golden/search: its inputs span a space in which its rows are what is allowed.
class RecordedTable {
 public:
  static constexpr std::size_t kMetrics = 3;
  enum Metric : std::size_t { TokensPerS, TokensPerSPerGpu, PeakMemory };

  explicit RecordedTable(const std::filesystem::path& file) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : split(read_file(file), '\n')) {
      if (!line.empty() && line[0] != '#') {
        rows.push_back(split(line, ','));
      }
    }
    const std::size_t inputs = rows.at(0).size() - kMetrics;
    std::vector<search::Dimension> dimensions(inputs);
    std::vector<std::vector<std::size_t>> coordinates(rows.size());
    for (std::size_t i = 0; i < inputs; ++i) {
      dimensions[i].name = rows[0][i];
      for (std::size_t row = 1; row < rows.size(); ++row) {
        coordinates[row].push_back(level_of(rows[row].at(i), dimensions[i].values));
      }
    }
    const search::FiniteSpace plain(dimensions);
    for (std::size_t row = 1; row < rows.size(); ++row) {
      std::vector<double>& values = rows_[plain.point(coordinates[row])];
      for (std::size_t metric = 0; metric < kMetrics; ++metric) {
        values.push_back(parse_real(rows[row].at(inputs + metric))
                             .value_or(std::numeric_limits<double>::quiet_NaN()));
      }
    }
    TB_CHECK(rows_.size() + 1 == rows.size());
    space_ = std::make_unique<search::FiniteSpace>(
        dimensions,
        [this, plain](std::span<const std::size_t> at) { return rows_.contains(plain.point(at)); });
  }
  RecordedTable(const RecordedTable&) = delete;
  RecordedTable& operator=(const RecordedTable&) = delete;

  [[nodiscard]] const search::FiniteSpace& space() const { return *space_; }
  [[nodiscard]] const std::unordered_map<search::Point, std::vector<double>>& rows() const {
    return rows_;
  }

  /// Of the metrics; failed when one of them is missing.
  [[nodiscard]] search::Observation measure(search::Point point,
                                            std::span<const Metric> metrics) const {
    search::Observation observation;
    observation.point = point;
    for (const Metric metric : metrics) {
      observation.objectives.push_back(rows_.at(point).at(metric));
      observation.valid = observation.valid && std::isfinite(observation.objectives.back());
    }
    return observation;
  }

  [[nodiscard]] double largest(Metric metric) const {
    double best = -std::numeric_limits<double>::infinity();
    for (const auto& [point, values] : rows_) {
      best = std::fmax(best, values[metric]);
    }
    return best;
  }

  /// Measurements that a search makes until one is within 1 % of the largest value.
  [[nodiscard]] double points_until_best(search::Method method, Metric metric,
                                         std::uint64_t seed) const {
    search::SearchConfig config;
    config.method = method;
    const std::unique_ptr<search::Searcher> searcher = search::make_searcher(config, *space_, seed);
    const double target = 0.99 * largest(metric);
    const std::vector<Metric> metrics = {metric};
    std::vector<search::Observation> history;
    while (history.empty() || !history.back().valid || history.back().objectives[0] < target) {
      history.push_back(measure(searcher->next(history).value().point, metrics));
    }
    return static_cast<double>(history.size());
  }

 private:
  static std::size_t level_of(const std::string& text, std::vector<Json>& values) {
    const std::optional<double> number = parse_real(text);
    const Json value = number ? Json(*number) : Json(text);
    const auto found = std::ranges::find(values, value);
    if (found != values.end()) {
      return static_cast<std::size_t>(found - values.begin());
    }
    values.push_back(value);
    return values.size() - 1;
  }

  std::unordered_map<search::Point, std::vector<double>> rows_;
  std::unique_ptr<search::FiniteSpace> space_;
};

}  // namespace tunebench::test_support
