#include "tunebench/search/internal/information.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "tunebench/base/error.h"

namespace tunebench::search {
namespace {

constexpr std::size_t kClusterLimit = 35;

std::vector<std::size_t> sorted_order(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [values](std::size_t i) { return values[i]; });
  return order;
}

/// Least cost of cutting sorted values into groups, one more group a call of next_row().
class Cutter {
 public:
  /// Values are taken relative to their mean, so that sums of squares keep their digits.
  explicit Cutter(const std::vector<double>& sorted) : count_(sorted.size()) {
    const double mean =
        std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count_);
    sums_.assign(count_ + 1, 0.0);
    squares_.assign(count_ + 1, 0.0);
    for (std::size_t i = 0; i < count_; ++i) {
      const double value = sorted[i] - mean;
      sums_[i + 1] = sums_[i] + value;
      squares_[i + 1] = squares_[i] + value * value;
    }
    costs_.assign(count_ + 1, std::numeric_limits<double>::infinity());
    costs_[0] = 0;
  }

  void next_row() {
    before_ = std::exchange(
        costs_, std::vector<double>(count_ + 1, std::numeric_limits<double>::infinity()));
    starts_.emplace_back(count_ + 1, 0);
    const std::size_t groups = starts_.size();
    fill(groups, count_, groups - 1, count_ - 1);
  }

  /// Labels of the sorted values for as many groups as rows were made.
  [[nodiscard]] std::vector<std::size_t> labels() const {
    std::vector<std::size_t> labels(count_);
    std::size_t end = count_;
    for (std::size_t group = starts_.size(); group-- > 0;) {
      const std::size_t start = starts_[group][end];
      std::fill(labels.begin() + static_cast<std::ptrdiff_t>(start),
                labels.begin() + static_cast<std::ptrdiff_t>(end), group);
      end = start;
    }
    return labels;
  }

 private:
  [[nodiscard]] double cost(std::size_t start, std::size_t end) const {
    const double sum = sums_[end] - sums_[start];
    return std::max(0.0,
                    squares_[end] - squares_[start] - sum * sum / static_cast<double>(end - start));
  }

  /// Ends first..last; the best start of the last group lies in least..most and grows with the end.
  void fill(std::size_t first, std::size_t last, std::size_t least, std::size_t most) {
    if (first > last) {
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    std::size_t best = least;
    for (std::size_t start = least; start <= std::min(most, middle - 1); ++start) {
      const double total = before_[start] + cost(start, middle);
      if (total < costs_[middle]) {
        costs_[middle] = total;
        best = start;
      }
    }
    starts_.back()[middle] = best;
    fill(first, middle - 1, least, best);
    fill(middle + 1, last, best, most);
  }

  std::size_t count_;
  std::vector<double> sums_;
  std::vector<double> squares_;
  std::vector<double> before_;
  std::vector<double> costs_;
  std::vector<std::vector<std::size_t>> starts_;
};

/// Of sorted values with contiguous labels.
std::optional<double> sorted_silhouette(const std::vector<double>& sorted,
                                        const std::vector<std::size_t>& labels) {
  std::vector<std::size_t> starts;
  std::vector<double> sums(sorted.size() + 1, 0.0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sums[i + 1] = sums[i] + sorted[i];
    if (i == 0 || labels[i] != labels[i - 1]) {
      starts.push_back(i);
    }
  }
  if (starts.size() < 2) {
    return std::nullopt;
  }
  starts.push_back(sorted.size());
  double total = 0;
  for (std::size_t group = 0; group + 1 < starts.size(); ++group) {
    const std::size_t begin = starts[group];
    const std::size_t end = starts[group + 1];
    for (std::size_t i = begin; i < end && end - begin > 1; ++i) {
      const double value = sorted[i];
      const double own = value * static_cast<double>(i - begin) - (sums[i] - sums[begin]) +
                         (sums[end] - sums[i]) - value * static_cast<double>(end - i);
      const double inside = std::max(0.0, own) / static_cast<double>(end - begin - 1);
      // On a line the nearest other group is a neighbour.
      double outside = std::numeric_limits<double>::infinity();
      if (group > 0) {
        const auto size = static_cast<double>(begin - starts[group - 1]);
        outside = value - (sums[begin] - sums[starts[group - 1]]) / size;
      }
      if (group + 2 < starts.size()) {
        const auto size = static_cast<double>(starts[group + 2] - end);
        outside = std::min(outside, (sums[starts[group + 2]] - sums[end]) / size - value);
      }
      const double larger = std::max(inside, outside);
      total += larger > 0 ? (outside - inside) / larger : 0.0;
    }
  }
  return total / static_cast<double>(sorted.size());
}

std::vector<double> arranged(std::span<const double> values,
                             const std::vector<std::size_t>& order) {
  std::vector<double> result;
  for (const std::size_t index : order) {
    result.push_back(values[index]);
  }
  return result;
}

std::vector<std::size_t> back_to_order(const std::vector<std::size_t>& labels,
                                       const std::vector<std::size_t>& order) {
  std::vector<std::size_t> result(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[order[i]] = labels[i];
  }
  return result;
}

}  // namespace

std::vector<std::size_t> cluster_labels(std::span<const double> values, std::size_t clusters) {
  TB_CHECK(clusters >= 1 && clusters <= values.size());
  const std::vector<std::size_t> order = sorted_order(values);
  Cutter cutter(arranged(values, order));
  for (std::size_t i = 0; i < clusters; ++i) {
    cutter.next_row();
  }
  return back_to_order(cutter.labels(), order);
}

std::optional<double> silhouette(std::span<const double> values,
                                 std::span<const std::size_t> labels) {
  TB_CHECK(values.size() == labels.size());
  const std::vector<std::size_t> order = sorted_order(values);
  std::vector<std::size_t> sorted_labels;
  for (const std::size_t index : order) {
    sorted_labels.push_back(labels[index]);
  }
  return sorted_silhouette(arranged(values, order), sorted_labels);
}

std::optional<std::vector<std::size_t>> best_clusters(std::span<const double> values) {
  if (values.size() < 3 || std::ranges::min(values) == std::ranges::max(values)) {
    return std::nullopt;
  }
  const std::size_t limit = std::min(kClusterLimit, values.size() - 2);
  const std::vector<std::size_t> order = sorted_order(values);
  const std::vector<double> sorted = arranged(values, order);
  Cutter cutter(sorted);
  cutter.next_row();
  std::optional<std::vector<std::size_t>> best;
  double best_silhouette = -2;
  for (std::size_t clusters = 2; clusters < limit; ++clusters) {
    cutter.next_row();
    std::vector<std::size_t> labels = cutter.labels();
    const std::optional<double> score = sorted_silhouette(sorted, labels);
    if (score && *score > best_silhouette) {
      best_silhouette = *score;
      best = back_to_order(labels, order);
    }
  }
  return best;
}

double entropy(std::span<const std::size_t> labels) {
  std::map<std::size_t, double> counts;
  for (const std::size_t label : labels) {
    counts[label] += 1;
  }
  double sum = 0;
  for (const auto& [label, count] : counts) {
    const double share = count / static_cast<double>(labels.size());
    sum -= share * std::log(share);
  }
  return sum;
}

double mutual_information(std::span<const std::size_t> first, std::span<const std::size_t> second) {
  TB_CHECK(first.size() == second.size());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> pairs;
  std::vector<std::size_t> joint;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto place = pairs.try_emplace({first[i], second[i]}, pairs.size()).first;
    joint.push_back(place->second);
  }
  return std::max(0.0, entropy(first) + entropy(second) - entropy(joint));
}

}  // namespace tunebench::search
