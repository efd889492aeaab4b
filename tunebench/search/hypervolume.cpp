#include "tunebench/search/hypervolume.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <ranges>

#include "tunebench/base/error.h"

namespace tunebench::search {
namespace {

constexpr double kNothingBelow = -std::numeric_limits<double>::infinity();
constexpr std::size_t kMostObjectives = 3;

bool dominates(const std::vector<double>& first, const std::vector<double>& second) {
  bool better = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] > second[i]) {
      return false;
    }
    better = better || first[i] < second[i];
  }
  return better;
}

/// Rows inside of the reference, sorted by their last number.
LossRows sorted_inside(const LossRows& rows, const std::vector<double>& reference) {
  LossRows inside;
  for (const std::vector<double>& row : rows) {
    TB_CHECK(row.size() == reference.size());
    if (std::ranges::equal(row, reference, std::less<>())) {
      inside.push_back(row);
    }
  }
  std::ranges::stable_sort(inside, {}, [](const std::vector<double>& row) { return row.back(); });
  return inside;
}

LossRows without_last(LossRows rows) {
  for (std::vector<double>& row : rows) {
    row.pop_back();
  }
  return rows;
}

}  // namespace

std::vector<bool> dominated_points(const LossRows& rows) {
  std::vector<bool> dominated(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    dominated[i] =
        std::ranges::any_of(rows, [&](const auto& row) { return dominates(row, rows[i]); });
  }
  return dominated;
}

double hypervolume(const LossRows& rows, const std::vector<double>& reference) {
  TB_CHECK(!reference.empty() && reference.size() <= kMostObjectives);
  const LossRows inside = sorted_inside(rows, reference);
  if (inside.empty()) {
    return 0;
  }
  if (reference.size() == 1) {
    return reference[0] - inside.front()[0];
  }
  const std::vector<double> lower_reference(reference.begin(), reference.end() - 1);
  const LossRows lower = without_last(inside);
  double volume = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const double top = i + 1 < inside.size() ? inside[i + 1].back() : reference.back();
    const double height = top - inside[i].back();
    if (height > 0) {
      const LossRows slice(lower.begin(), lower.begin() + static_cast<std::ptrdiff_t>(i + 1));
      volume += height * hypervolume(slice, lower_reference);
    }
  }
  return volume;
}

std::vector<Box> improvement_boxes(const LossRows& rows, const std::vector<double>& reference) {
  TB_CHECK(!reference.empty() && reference.size() <= kMostObjectives);
  const LossRows inside = sorted_inside(rows, reference);
  if (reference.size() == 1) {
    return {{{kNothingBelow}, {inside.empty() ? reference[0] : inside.front()[0]}}};
  }
  const std::vector<double> lower_reference(reference.begin(), reference.end() - 1);
  const LossRows lower = without_last(inside);
  std::vector<Box> boxes;
  for (std::size_t i = 0; i <= inside.size(); ++i) {
    // Of this slice, only rows that begin below it dominate anything.
    const double bottom = i == 0 ? kNothingBelow : inside[i - 1].back();
    const double top = i < inside.size() ? inside[i].back() : reference.back();
    if (top <= bottom) {
      continue;
    }
    const LossRows slice(lower.begin(), lower.begin() + static_cast<std::ptrdiff_t>(i));
    for (Box& box : improvement_boxes(slice, lower_reference)) {
      box.low.push_back(bottom);
      box.high.push_back(top);
      boxes.push_back(std::move(box));
    }
  }
  return boxes;
}

double expected_improvement(double mean, double deviation, double threshold) {
  const double gain = threshold - mean;
  if (deviation <= 0) {
    return std::max(0.0, gain);
  }
  const double z = gain / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return std::max(0.0, gain * below + deviation * density);
}

double expected_volume_gain(const std::vector<double>& means, const std::vector<double>& deviations,
                            const std::vector<Box>& boxes) {
  double total = 0;
  for (const Box& box : boxes) {
    double part = 1;
    for (std::size_t i = 0; i < means.size() && part > 0; ++i) {
      part *= expected_improvement(means[i], deviations[i], box.high[i]) -
              (std::isinf(box.low[i]) ? 0.0
                                      : expected_improvement(means[i], deviations[i], box.low[i]));
    }
    total += std::max(0.0, part);
  }
  return total;
}

}  // namespace tunebench::search
