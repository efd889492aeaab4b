#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tunebench::search {

/// Cuts the values into `clusters` contiguous groups of least squared distance to their means;
/// exact. Label of each value, 0 for the lowest group. 1 <= clusters <= number of values.
/// Source: Wang and Song 2011, "Ckmeans.1d.dp", with the divide and conquer over rows of Wu 1991.
std::vector<std::size_t> cluster_labels(std::span<const double> values, std::size_t clusters);

/// Mean over the values of (nearest other group - own group) / larger of the two, as mean
/// distances; 0 for a value alone in its group. nullopt when there are fewer than two groups.
/// Source: Rousseeuw 1987, "Silhouettes".
std::optional<double> silhouette(std::span<const double> values,
                                 std::span<const std::size_t> labels);

/// Labels for 2, 3, ... groups below min(35, number of values - 2), of the best silhouette; the
/// fewest of equally good ones. nullopt when no number of groups is possible or all values agree.
std::optional<std::vector<std::size_t>> best_clusters(std::span<const double> values);

/// Entropy of labels in nats.
double entropy(std::span<const std::size_t> labels);
/// Mutual information of two labellings of the same things in nats, from their counts.
double mutual_information(std::span<const std::size_t> first, std::span<const std::size_t> second);

}  // namespace tunebench::search
