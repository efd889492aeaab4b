#include "tunebench/stats/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

#include "tunebench/base/error.h"

namespace tunebench::stats {
namespace {

constexpr std::size_t kFewestForSecondOpinion = 4;
/// Up to here the number of ways to deal the ranks, at most 40 over 20, is exact in a double.
constexpr std::size_t kMostForExactRanks = 40;

double square(double value) {
  return value * value;
}

/// Twice the ranks, so that the mean rank of tied values is a whole number, and the correction of
/// the variance for ties: the sum of t^3 - t over groups of t equal values.
struct Ranks {
  std::vector<std::int64_t> doubled;  ///< first side, then second side
  double ties = 0;
};

Ranks ranks_of(std::span<const double> first, std::span<const double> second) {
  std::vector<double> values(first.begin(), first.end());
  values.insert(values.end(), second.begin(), second.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&values](std::size_t index) { return values[index]; });
  Ranks ranks;
  ranks.doubled.resize(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (std::size_t place = begin; place < end; ++place) {
      ranks.doubled[order[place]] = static_cast<std::int64_t>(begin + 1 + end);
    }
    const auto group = static_cast<double>(end - begin);
    ranks.ties += group * group * group - group;
    begin = end;
  }
  return ranks;
}

/// ways[k][s]: in how many ways k of the ranks sum up to s.
double exact_p(const Ranks& ranks, std::size_t chosen, std::int64_t observed) {
  const std::int64_t total =
      std::accumulate(ranks.doubled.begin(), ranks.doubled.end(), std::int64_t{0});
  std::vector<std::vector<double>> ways(
      chosen + 1, std::vector<double>(static_cast<std::size_t>(total) + 1, 0.0));
  ways[0][0] = 1;
  for (const std::int64_t rank : ranks.doubled) {
    for (std::size_t count = chosen; count >= 1; --count) {
      for (std::int64_t sum = total; sum >= rank; --sum) {
        ways[count][static_cast<std::size_t>(sum)] +=
            ways[count - 1][static_cast<std::size_t>(sum - rank)];
      }
    }
  }
  // Both sums are compared as multiples of the number of values: no rounding.
  const auto count = static_cast<std::int64_t>(ranks.doubled.size());
  const std::int64_t expected = static_cast<std::int64_t>(chosen) * total;
  const std::int64_t distance = std::abs(observed * count - expected);
  double all = 0;
  double as_far = 0;
  for (std::int64_t sum = 0; sum <= total; ++sum) {
    const double number = ways[chosen][static_cast<std::size_t>(sum)];
    all += number;
    as_far += std::abs(sum * count - expected) >= distance ? number : 0.0;
  }
  return as_far / all;
}

double approximate_p(const Ranks& ranks, double first, double second, std::int64_t observed) {
  const double count = first + second;
  const double distance =
      std::abs(static_cast<double>(observed) / 2.0 - first * (count + 1.0) / 2.0);
  const double variance =
      first * second / 12.0 * (count + 1.0 - ranks.ties / (count * (count - 1.0)));
  if (variance <= 0) {
    return 1.0;  // all values are equal
  }
  const double z = std::max(0.0, distance - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::numbers::sqrt2);
}

Verdict verdict_of(const Welch& welch, double first_mean, double practical) {
  const bool contains_zero = welch.interval.low <= 0 && welch.interval.high >= 0;
  if (contains_zero || std::abs(welch.difference) < practical * first_mean) {
    return Verdict::Same;
  }
  return welch.difference > 0 ? Verdict::Faster : Verdict::Slower;
}

}  // namespace

std::optional<Welch> welch(std::span<const double> first, std::span<const double> second,
                           double confidence) {
  TB_CHECK(confidence > 0.0 && confidence < 1.0);
  if (first.size() < 2 || second.size() < 2) {
    return std::nullopt;
  }
  const auto n1 = static_cast<double>(first.size());
  const auto n2 = static_cast<double>(second.size());
  const double v1 = square(sample_sd(first)) / n1;
  const double v2 = square(sample_sd(second)) / n2;
  Welch result;
  result.difference = mean(second) - mean(first);
  if (v1 + v2 <= 0) {
    result.degrees = n1 + n2 - 2.0;
    result.interval = {result.difference, result.difference};
    if (result.difference != 0) {
      result.t = std::copysign(std::numeric_limits<double>::infinity(), result.difference);
      result.p = 0;
    }
    return result;
  }
  const double error = std::sqrt(v1 + v2);
  result.t = result.difference / error;
  result.degrees = square(v1 + v2) / (square(v1) / (n1 - 1.0) + square(v2) / (n2 - 1.0));
  result.p = student_t_two_sided(result.t, result.degrees);
  const double half = student_t_quantile(0.5 + confidence / 2.0, result.degrees) * error;
  result.interval = {result.difference - half, result.difference + half};
  return result;
}

double mann_whitney_p(std::span<const double> first, std::span<const double> second) {
  TB_CHECK(!first.empty() && !second.empty());
  const Ranks ranks = ranks_of(first, second);
  const auto middle = ranks.doubled.begin() + static_cast<std::ptrdiff_t>(first.size());
  const std::int64_t observed = std::accumulate(ranks.doubled.begin(), middle, std::int64_t{0});
  if (ranks.doubled.size() <= kMostForExactRanks) {
    return exact_p(ranks, first.size(), observed);
  }
  return approximate_p(ranks, static_cast<double>(first.size()), static_cast<double>(second.size()),
                       observed);
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&p_values](std::size_t index) { return p_values[index]; });
  std::vector<double> corrected(p_values.size());
  double largest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    largest = std::max(largest, std::min(1.0, left * p_values[order[place]]));
    corrected[order[place]] = largest;
  }
  return corrected;
}

double geometric_mean(std::span<const double> values) {
  TB_CHECK(!values.empty());
  std::vector<double> logarithms;
  for (const double value : values) {
    TB_CHECK(value > 0);
    logarithms.push_back(std::log(value));
  }
  return std::exp(mean(logarithms));
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Same:
      return "same";
    case Verdict::Faster:
      return "faster";
    case Verdict::Slower:
      return "slower";
    case Verdict::TooFew:
      break;
  }
  return "too few";
}

Comparison compare_rates(std::span<const double> first, std::span<const double> second,
                         double practical) {
  const auto finite = [](double value) { return std::isfinite(value); };
  TB_CHECK(std::ranges::all_of(first, finite) && std::ranges::all_of(second, finite));
  Comparison result;
  result.first_mean = mean(first);
  result.second_mean = mean(second);
  TB_CHECK(result.first_mean > 0);
  result.ratio = result.second_mean / result.first_mean;
  result.welch = welch(first, second);
  if (result.welch.has_value()) {
    result.relative = Interval{result.welch->interval.low / result.first_mean,
                               result.welch->interval.high / result.first_mean};
    result.verdict = verdict_of(*result.welch, result.first_mean, practical);
  }
  if (first.size() >= kFewestForSecondOpinion && second.size() >= kFewestForSecondOpinion) {
    result.mann_whitney_p = mann_whitney_p(first, second);
  }
  return result;
}

}  // namespace tunebench::stats
