#include "tunebench/campaign/internal/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/secrets.h"
#include "tunebench/campaign/internal/search_config.h"

namespace tunebench::campaign {
namespace {

/// So many points are looked at before anything is measured, so that most mistakes are told then.
constexpr std::size_t kLookedAt = 2000;

}  // namespace

Search::Search(Request request, space::Space space, Machine machine, Diagnostics& problems)
    : request_(std::move(request)),
      space_(std::move(space)),
      machine_(std::move(machine)),
      finite_(finite_space()),
      resolver_(request_, space_, machine_, found_) {
  if (request_.search.objectives.empty()) {
    request_.search.objectives.push_back({.metric = "tokens_per_s", .maximize = true});
  }
  make_searcher(problems);
  make_stoppers(problems);
  look_for_mistakes(problems);
}

search::FiniteSpace Search::finite_space() const {
  std::vector<search::Dimension> dimensions;
  for (const space::Dimension& dimension : space_.dimensions()) {
    dimensions.push_back({dimension.property, dimension.values});
  }
  if (space_.variants().size() > 1) {
    search::Dimension variants{.name = "experiment", .values = {}};
    for (std::size_t i = 0; i < space_.variants().size(); ++i) {
      variants.values.emplace_back(std::to_string(i));
    }
    dimensions.push_back(std::move(variants));
  }
  if (space_.rules().empty()) {
    return search::FiniteSpace(std::move(dimensions));
  }
  return search::FiniteSpace(std::move(dimensions), [this](std::span<const std::size_t> at) {
    space::Digits digits(at.begin(), at.end());
    digits.resize(space_.digits(), 0);
    return !space_.excluded_by(digits).has_value();
  });
}

space::Digits Search::digits_of(search::Point point) const {
  space::Digits digits = finite_.coordinates(point);
  digits.resize(space_.digits(), 0);
  return digits;
}

void Search::make_searcher(Diagnostics& problems) {
  const std::size_t before = problems.size();
  const std::uint64_t seed = search_seed(request_.search);
  if (request_.search.method == "random_walk") {
    const search::WalkConfig walk = walk_config(request_, problems);
    Diagnostics wrong = search::check(walk, finite_);
    add_once(wrong, problems);
    if (problems.size() == before) {
      searcher_ = search::make_walk(walk, finite_, seed);
    }
    return;
  }
  const search::SearchConfig config = search_config(request_, finite_, problems);
  for (Diagnostic& wrong : search::check(config, finite_)) {
    wrong.where = request_.search.where;
    problems.push_back(std::move(wrong));
  }
  if (problems.size() == before) {
    searcher_ = search::make_searcher(config, finite_, seed);
  }
}

void Search::make_stoppers(Diagnostics& problems) {
  search::StopContext context{.space = &finite_};
  for (const Objective& one : request_.search.objectives) {
    context.metrics.push_back(one.metric);
    context.directions.push_back(one.maximize ? search::Direction::Maximize
                                              : search::Direction::Minimize);
  }
  for (const search::StopConfig& config : stop_configs(request_.stop)) {
    Diagnostics wrong;
    std::unique_ptr<search::Stopper> stopper = search::make_stopper(config, context, wrong);
    for (Diagnostic& one : wrong) {
      one.where = request_.stop.where;
      problems.push_back(std::move(one));
    }
    if (stopper != nullptr) {
      (config.name == "narrow_interval" ? interval_stoppers_ : stoppers_)
          .push_back(std::move(stopper));
    }
  }
  if (request_.stop.cost && !request_.price) {
    problems.push_back({request_.stop.where, "stop 'cost' needs to know what an hour costs",
                        "--price, or price: in the plan"});
  }
}

void Search::look_for_mistakes(Diagnostics& problems) {
  space::Walk walk(space_);
  walk.set_most_looks(1'000'000);
  Diagnostics wrong;
  while (looked_at_.size() < kLookedAt && walk.next()) {
    found_.clear();
    std::optional<PlannedPoint> planned = resolver_.resolve(walk.digits());
    if (planned) {
      looked_at_.push_back(std::move(*planned));
    }
    wrong.insert(wrong.end(), found_.begin(), found_.end());
    if (wrong.size() > kLookedAt) {
      break;
    }
  }
  if (looked_at_.empty() && wrong.empty() && !walk.gave_up()) {
    problems.push_back({"", "the rules exclude every point", "tunebench plan tells which"});
  }
  add_once(wrong, problems);
}

std::vector<double> Search::objectives(const record::Record& record) const {
  std::vector<double> values;
  for (const Objective& one : request_.search.objectives) {
    values.push_back(record.number(one.metric).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return values;
}

double Search::hourly_cost(const record::Record& record) const {
  const auto gpus = record.inputs.find("number_gpus");
  const bool has_gpus = gpus != record.inputs.end() && gpus->second.is_int();
  return request_.price.value_or(0) * static_cast<double>(std::max<std::int64_t>(
                                          1, has_gpus ? gpus->second.as_int() : std::int64_t{0}));
}

std::vector<search::StopReport> Search::reports(
    std::span<const search::Observation> trials,
    std::span<const search::Observation> measurements) const {
  std::vector<search::StopReport> all = search::stop_reports(stoppers_, trials);
  for (search::StopReport& report : search::stop_reports(interval_stoppers_, measurements)) {
    all.push_back(std::move(report));
  }
  return all;
}

const PlannedPoint& Search::resolve(const Place& place) {
  if (const auto known = resolved_.find(place); known != resolved_.end()) {
    return known->second;
  }
  found_.clear();
  experiment::Point point = space_.point(digits_of(place.point));
  if (place.budget > 0) {
    point.inputs["max_steps"] = place.budget;
  }
  std::optional<PlannedPoint> planned = resolver_.resolve(std::move(point));
  if (!planned) {
    throw Error(ErrorCode::InvalidInput,
                found_.empty() ? "a point of the space cannot be measured" : found_.front().line());
  }
  if (place.budget > 0) {
    planned->title += fmt::format(" steps={}", place.budget);
  }
  return resolved_.emplace(place, std::move(*planned)).first->second;
}

std::optional<Place> Search::place_of(const record::Record& record) const {
  // A record's texts have no secrets.
  const auto is = [&record](const std::string& name, const Json& value) {
    const auto found = record.inputs.find(name);
    const Json shown = value.is_string() ? Json(mask_secrets(value.as_string())) : value;
    return found != record.inputs.end() && found->second == shown;
  };
  std::vector<std::size_t> at;
  for (const space::Dimension& dimension : space_.dimensions()) {
    const auto value = std::ranges::find_if(
        dimension.values, [&](const Json& one) { return is(dimension.property, one); });
    if (value == dimension.values.end()) {
      return std::nullopt;
    }
    at.push_back(static_cast<std::size_t>(value - dimension.values.begin()));
  }
  const std::vector<space::Variant>& variants = space_.variants();
  const auto variant = std::ranges::find_if(variants, [&](const space::Variant& one) {
    return one.experiment == record.experiment &&
           std::ranges::all_of(one.own, [&](const std::string& name) {
             const auto own = one.inputs.find(name);
             return own != one.inputs.end() && is(name, own->second);
           });
  });
  if (variant == variants.end()) {
    return std::nullopt;
  }
  if (variants.size() > 1) {
    at.push_back(static_cast<std::size_t>(variant - variants.begin()));
  }
  Place place{.point = finite_.point(at)};
  if (request_.search.method == "halving") {
    place.budget = record.inputs.at("max_steps").as_int();
  }
  return place;
}

std::int64_t Search::most_points() const {
  const double size = std::min(space_.approximate_size(), 1e15);
  const auto points = static_cast<std::int64_t>(size);
  const bool all_seen = static_cast<double>(looked_at_.size()) < static_cast<double>(kLookedAt);
  return std::min(
      {points, request_.stop.points.value_or(points), all_seen ? std::ssize(looked_at_) : points});
}

bool is_search(const Request& request) {
  const StopRequest& stop = request.stop;
  return request.search.method != "grid" || stop.time_s || stop.cost || stop.no_improvement ||
         stop.interval || !stop.stoppers.empty();
}

}  // namespace tunebench::campaign
