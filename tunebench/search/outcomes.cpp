#include "tunebench/search/internal/outcomes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "tunebench/base/error.h"
#include "tunebench/search/hypervolume.h"

namespace tunebench::search {
namespace {

constexpr double kBeyondWorst = 0.1;

double signed_loss(double value, Direction direction) {
  return direction == Direction::Minimize ? value : -value;
}

using Indices = std::vector<std::size_t>;

/// Takes the non-dominated ones out of `left`.
Indices take_front(std::span<const Outcome> outcomes, Indices& left) {
  std::vector<std::vector<double>> losses;
  losses.reserve(left.size());
  for (const std::size_t index : left) {
    losses.push_back(outcomes[index].losses);
  }
  Indices front;
  Indices rest;
  const std::vector<bool> dominated = dominated_points(losses);
  for (std::size_t i = 0; i < left.size(); ++i) {
    (dominated[i] ? rest : front).push_back(left[i]);
  }
  left = std::move(rest);
  return front;
}

/// Greedy: next comes the one that adds most to the volume of those before it.
void sort_by_added_volume(std::span<const Outcome> outcomes, const std::vector<double>& reference,
                          Indices& front) {
  std::vector<std::vector<double>> chosen;
  double volume = 0;
  for (auto place = front.begin(); place != front.end(); ++place) {
    auto best = place;
    double best_volume = -1;
    for (auto candidate = place; candidate != front.end(); ++candidate) {
      chosen.push_back(outcomes[*candidate].losses);
      const double with = hypervolume(chosen, reference);
      chosen.pop_back();
      if (with > best_volume) {
        best_volume = with;
        best = candidate;
      }
    }
    std::rotate(place, best, best + 1);
    chosen.push_back(outcomes[*place].losses);
    volume = best_volume;
  }
  TB_CHECK(volume >= 0);
}

}  // namespace

bool is_good(const Observation& observation, std::span<const Direction> directions) {
  if (!observation.valid) {
    return false;
  }
  TB_CHECK(observation.objectives.size() >= directions.size());
  return std::all_of(
      observation.objectives.begin(),
      observation.objectives.begin() + static_cast<std::ptrdiff_t>(directions.size()),
      [](double value) { return std::isfinite(value); });
}

std::vector<Outcome> outcomes_of(std::span<const Observation> history,
                                 std::span<const Direction> directions) {
  std::vector<Outcome> outcomes;
  std::vector<double> counts;
  std::unordered_map<Point, std::size_t> places;
  for (const Observation& observation : history) {
    const auto [place, is_new] = places.try_emplace(observation.point, outcomes.size());
    if (is_new) {
      outcomes.push_back({.point = observation.point, .losses = {}, .failed = true});
      counts.push_back(0);
    }
    if (!is_good(observation, directions)) {
      continue;
    }
    Outcome& outcome = outcomes[place->second];
    outcome.failed = false;
    outcome.losses.resize(directions.size());
    const double count = ++counts[place->second];
    for (std::size_t i = 0; i < directions.size(); ++i) {
      outcome.losses[i] +=
          (signed_loss(observation.objectives[i], directions[i]) - outcome.losses[i]) / count;
    }
  }
  return outcomes;
}

std::vector<std::size_t> best_first(std::span<const Outcome> outcomes,
                                    const std::vector<double>& reference) {
  Indices left;
  Indices failed;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    (outcomes[i].failed ? failed : left).push_back(i);
  }
  Indices order;
  if (reference.size() == 1) {
    order = left;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return outcomes[i].losses[0]; });
  } else {
    while (!left.empty()) {
      Indices front = take_front(outcomes, left);
      sort_by_added_volume(outcomes, reference, front);
      order.insert(order.end(), front.begin(), front.end());
    }
  }
  order.insert(order.end(), failed.begin(), failed.end());
  return order;
}

std::vector<double> reference_losses(std::span<const Outcome> outcomes,
                                     std::span<const Direction> directions,
                                     std::span<const double> configured) {
  std::vector<double> reference;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    if (!configured.empty()) {
      reference.push_back(signed_loss(configured[i], directions[i]));
      continue;
    }
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Outcome& outcome : outcomes) {
      if (!outcome.failed) {
        low = std::min(low, outcome.losses[i]);
        high = std::max(high, outcome.losses[i]);
      }
    }
    // One value says nothing of the range; a tenth of its size stands in.
    const double range = high > low ? high - low : std::abs(high);
    reference.push_back(std::isfinite(high) ? high + kBeyondWorst * range : 0.0);
  }
  return reference;
}

}  // namespace tunebench::search
