#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/search/internal/stoppers.h"

namespace tunebench::search {
namespace {

using Kind = ParameterRule::Kind;

/// Different points, seconds or money used so far, against a limit.
class LimitStopper final : public Stopper {
 public:
  enum class What { Points, Seconds, Cost };

  LimitStopper(std::string name, What what, double limit)
      : name_(std::move(name)), what_(what), limit_(limit) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    const double used = used_by(history);
    StopReport report{.name = name_, .stop = used >= limit_, .text = {}, .numbers = Json::object()};
    report.text = what_ == What::Seconds
                      ? fmt::format("{} of {} used", format_duration(used), format_duration(limit_))
                      : fmt::format("{} of {} {}", shortest(used), shortest(limit_),
                                    what_ == What::Points ? "points" : "used");
    report.numbers.set("used", used);
    report.numbers.set("limit", limit_);
    return report;
  }

 private:
  [[nodiscard]] double used_by(std::span<const Observation> history) const {
    std::unordered_set<Point> points;
    double sum = 0;
    for (const Observation& trial : history) {
      points.insert(trial.point);
      sum += what_ == What::Seconds ? trial.seconds : trial.cost;
    }
    return what_ == What::Points ? static_cast<double>(points.size()) : sum;
  }

  std::string name_;
  What what_;
  double limit_;
};

template <LimitStopper::What what>
std::unique_ptr<Stopper> make_limit(const char* name, const char* parameter,
                                    const Parameters& parameters) {
  return std::make_unique<LimitStopper>(name, what, parameters.number(parameter));
}

}  // namespace

std::vector<StopperKind> limit_stoppers() {
  using What = LimitStopper::What;
  return {
      {"count",
       {{"points", Kind::Count}},
       [](const Parameters& parameters, const StopContext&) {
         return make_limit<What::Points>("count", "points", parameters);
       }},
      {"time",
       {{"seconds", Kind::Positive}},
       [](const Parameters& parameters, const StopContext&) {
         return make_limit<What::Seconds>("time", "seconds", parameters);
       }},
      {"cost",
       {{"limit", Kind::Positive}},
       [](const Parameters& parameters, const StopContext&) {
         return make_limit<What::Cost>("cost", "limit", parameters);
       }},
      {"MaxSamplesStopper",
       {{"max_samples", Kind::Count}},
       [](const Parameters& parameters, const StopContext&) {
         return make_limit<What::Points>("MaxSamplesStopper", "max_samples", parameters);
       }},
  };
}

}  // namespace tunebench::search
