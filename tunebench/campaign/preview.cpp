#include "tunebench/campaign/preview.h"

#include <algorithm>
#include <map>
#include <set>

#include "tunebench/campaign/resolver.h"
#include "tunebench/campaign/time_estimate.h"

namespace tunebench::campaign {
namespace {

/// Without a limit, so many points are all looked at ...
constexpr double kMostLookedAt = 1'000;
/// ... and of more only the first few.
constexpr std::int64_t kFewOfMany = 20;
/// Rules looked at until a point is kept: about a second.
constexpr std::uint64_t kMostLooks = 3'000'000;

class PreviewMaker {
 public:
  PreviewMaker(const Request& request, const space::Space& space, const Machine& machine,
               const store::Store* store, const PreviewOptions& options, Diagnostics& problems)
      : request_(request),
        space_(space),
        machine_(machine),
        store_(store),
        options_(options),
        stability_(stability_of(request, problems)),
        resolver_(request, space, machine, problems) {
    resolver_.plan_memory();
  }

  Preview make(Diagnostics& problems) {
    count_rules();
    const double points = std::min(preview_.kept, stop_points());
    preview_.repeats =
        repeats_of(request_, stability_, static_cast<std::size_t>(std::min(points, 1e9)), problems);
    const bool few = points <= kMostLookedAt;
    const std::int64_t limit =
        options_.limit.value_or(few ? static_cast<std::int64_t>(kMostLookedAt) : kFewOfMany);
    if (!options_.limit && preview_.size <= kMostLookedAt) {
      look_at_all(limit);
    } else {
      walk(limit);
    }
    preview_.all = static_cast<double>(preview_.looked_at) >= points && !preview_.gave_up;
    return std::move(preview_);
  }

 private:
  [[nodiscard]] double stop_points() const {
    return request_.stop.points ? static_cast<double>(*request_.stop.points) : 1e300;
  }

  void count_rules() {
    const space::RuleCount count = space::count_kept(space_);
    preview_.size = space_.approximate_size();
    preview_.kept = count.kept;
    preview_.exact = count.exact;
    for (std::size_t i = 0; i < space_.rules().size(); ++i) {
      preview_.rules.push_back(
          {space_.rules()[i].text(), space_.rules()[i].where, count.excluded[i]});
    }
  }

  [[nodiscard]] bool enough(std::int64_t limit) const {
    return preview_.looked_at >= limit || static_cast<double>(preview_.looked_at) >= stop_points();
  }

  /// A small space is shown whole, with what the rules exclude.
  void look_at_all(std::int64_t limit) {
    for (std::uint64_t index = 0; index < *space_.size(); ++index) {
      const space::Digits digits = space_.digits_of(index);
      if (const std::optional<std::size_t> rule = space_.excluded_by(digits)) {
        experiment::Point point = space_.point(digits);
        preview_.points.push_back(
            {.title = title_of(space_, point), .point = std::move(point), .excluded_by = rule});
      } else if (!enough(limit)) {
        add(digits);
      }
    }
  }

  void walk(std::int64_t limit) {
    space::Walk walk(space_);
    walk.set_most_looks(kMostLooks);
    while (!enough(limit) && walk.next()) {
      add(walk.digits());
    }
    preview_.gave_up = walk.gave_up();
  }

  void add(const space::Digits& digits) {
    ++preview_.looked_at;
    std::optional<PlannedPoint> planned = resolver_.resolve(digits);
    if (!planned || !keys_.insert(planned->key).second) {
      return;
    }
    PreviewPoint one{.title = planned->title,
                     .point = planned->point,
                     .invalid = planned->invalid,
                     .wanted = planned->invalid.empty() ? preview_.repeats.count : 1,
                     .needed_bytes = planned->needed_bytes,
                     .may_use_bytes = planned->memory_bytes};
    find_known(planned->key, one);
    estimate(*planned, one);
    preview_.points.push_back(std::move(one));
  }

  void find_known(const std::string& key, PreviewPoint& one) const {
    if (store_ == nullptr || request_.fresh) {
      return;
    }
    const std::vector<record::Record> known =
        stability_ ? store_->attempts(key) : store_->reusable(key);
    one.failed_before =
        !stability_ && !known.empty() &&
        std::ranges::any_of(known, [](const record::Record& record) { return !record.is_valid(); });
    one.reused = one.failed_before ? one.wanted
                                   : std::min(one.wanted, static_cast<std::int64_t>(known.size()));
  }

  void estimate(const PlannedPoint& planned, PreviewPoint& one) {
    const std::string& model = planned.point.text("model_name");
    const Machine& machine = machine_.of(planned.point);
    const auto [place, added] =
        estimates_.try_emplace({machine.trainer, model}, machine, store_, model);
    if (added) {
      const std::string& source = place->second.source();
      preview_.time_source += (preview_.time_source.empty() ? "" : "; ") +
                              (machine_.others.empty() ? "" : machine.trainer + " ") + source;
    }
    if (const std::optional<double> seconds = place->second.seconds(planned)) {
      one.seconds = *seconds * static_cast<double>(one.to_measure());
      if (options_.price) {
        const auto devices = std::max<std::int64_t>(1, planned.point.integer("number_gpus"));
        one.cost = *options_.price * static_cast<double>(devices) * *one.seconds / 3600.0;
      }
    }
  }

  const Request& request_;
  const space::Space& space_;
  const Machine& machine_;
  const store::Store* store_;
  const PreviewOptions& options_;
  bool stability_;
  Resolver resolver_;
  Preview preview_;
  std::set<std::string> keys_;
  std::map<std::pair<std::string, std::string>, TimeEstimate> estimates_;  ///< trainer, model
};

}  // namespace

Preview make_preview(const Request& request, const Machine& machine, const store::Store* store,
                     const PreviewOptions& options, Diagnostics& problems) {
  Diagnostics found;
  check_gates(request, found);
  Preview preview;
  const std::optional<space::Space> space = space_of(request, found);
  if (space && found.empty()) {
    preview = PreviewMaker(request, *space, machine, store, options, found).make(found);
  }
  add_once(found, problems);
  return preview;
}

}  // namespace tunebench::campaign
