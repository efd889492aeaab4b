#include "tunebench/stats/summary.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

#include "tunebench/base/error.h"

namespace tunebench::stats {
namespace {

constexpr double kOutlierScore = 14.826;
constexpr double kOutlierRanges = 3.0;
constexpr std::size_t kFewestForQuartiles = 4;

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

double median_of_sorted(const std::vector<double>& values) {
  TB_CHECK(!values.empty());
  const std::size_t half = values.size() / 2;
  // The halves are added and not the values, whose sum may overflow.
  return values.size() % 2 == 1 ? values[half] : values[half - 1] / 2.0 + values[half] / 2.0;
}

double quantile_of_sorted(const std::vector<double>& values, double share) {
  TB_CHECK(!values.empty() && share >= 0.0 && share <= 1.0);
  const double place = share * static_cast<double>(values.size() - 1);
  const double below = std::floor(place);
  const auto index = static_cast<std::size_t>(below);
  if (index + 1 >= values.size()) {
    return values.back();
  }
  return values[index] + (place - below) * (values[index + 1] - values[index]);
}

}  // namespace

double median(std::span<const double> values) {
  return median_of_sorted(sorted(values));
}

double mean(std::span<const double> values) {
  TB_CHECK(!values.empty());
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  const double first = sum / count;
  // The mean of what is left corrects the rounding of the first pass.
  double rest = 0;
  for (const double value : values) {
    rest += value - first;
  }
  return first + rest / count;
}

double sample_sd(std::span<const double> values) {
  TB_CHECK(values.size() >= 2);
  const double center = mean(values);
  double squares = 0;
  double rest = 0;
  for (const double value : values) {
    const double difference = value - center;
    squares += difference * difference;
    rest += difference;
  }
  // Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance", eq. 1.7: `rest`
  // would be 0 without rounding.
  const auto count = static_cast<double>(values.size());
  return std::sqrt(std::max(0.0, squares - rest * rest / count) / (count - 1.0));
}

double student_t_quantile(double probability, double degrees) {
  TB_CHECK(probability > 0.0 && probability < 1.0 && degrees > 0.0);
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double student_t_two_sided(double t, double degrees) {
  TB_CHECK(degrees > 0.0);
  const boost::math::students_t distribution(degrees);
  return 2.0 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

std::optional<Interval> mean_interval(std::span<const double> values, double confidence) {
  TB_CHECK(confidence > 0.0 && confidence < 1.0);
  if (values.size() < 2) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(values.size());
  const double half = student_t_quantile(0.5 + confidence / 2.0, count - 1.0) * sample_sd(values) /
                      std::sqrt(count);
  const double center = mean(values);
  return Interval{center - half, center + half};
}

std::vector<double> modified_z_scores(std::span<const double> values) {
  const double center = median(values);
  std::vector<double> scores;
  std::vector<double> distances;
  for (const double value : values) {
    scores.push_back(value - center);
    distances.push_back(std::abs(value - center));
  }
  const double unit = median(distances);
  for (double& score : scores) {
    score = unit > 0.0 ? score / unit : 0.0;
  }
  return scores;
}

double quantile(std::span<const double> values, double share) {
  return quantile_of_sorted(sorted(values), share);
}

std::vector<std::size_t> outliers(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  const std::vector<double> scores = modified_z_scores(values);
  const std::vector<double> ordered = sorted(values);
  const double lower = quantile_of_sorted(ordered, 0.25);
  const double upper = quantile_of_sorted(ordered, 0.75);
  const double reach = kOutlierRanges * (upper - lower);
  // A range of 0 says as little as a denominator of 0 does for the score.
  const bool has_quartiles = values.size() >= kFewestForQuartiles && reach > 0.0;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool outside = has_quartiles && (values[i] < lower - reach || values[i] > upper + reach);
    if (std::abs(scores[i]) > kOutlierScore || outside) {
      found.push_back(i);
    }
  }
  return found;
}

std::optional<Summary> summarize(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  TB_CHECK(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }));
  Summary summary;
  summary.count = values.size();
  summary.median = median(values);
  summary.mean = mean(values);
  summary.min = *std::ranges::min_element(values);
  summary.max = *std::ranges::max_element(values);
  if (values.size() >= 2) {
    summary.sd = sample_sd(values);
    if (summary.mean != 0.0) {
      summary.cv = *summary.sd / std::abs(summary.mean);
    }
    summary.interval = mean_interval(values);
  }
  summary.outliers = outliers(values);
  return summary;
}

}  // namespace tunebench::stats
