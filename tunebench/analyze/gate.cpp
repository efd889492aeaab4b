#include "tunebench/analyze/gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::analyze {
namespace {

constexpr double kGateP = 0.05;

std::string percent(double share) {
  return fmt::format("{:+.2f} %", 100.0 * share);
}

/// Two-sided p of "the change is exactly the limit": Welch's test of B moved by the limit.
double p_at_limit(const ComparedPoint& point, double limit) {
  std::vector<double> moved;
  for (const double value : point.second) {
    moved.push_back(value - limit * point.first_mean);
  }
  return stats::welch(point.first, moved)->p;
}

GatedPoint judged_point(const Gate& gate, const ComparedPoint& point) {
  GatedPoint judged{.point = &point};
  if (point.change == Change::Failed || point.change == Change::Fixed) {
    judged.state = point.change == Change::Failed ? GateState::Failed : GateState::Passed;
    judged.why = fmt::format("{}: {}", change_name(gate.metric, point.change), point.failure);
    return judged;
  }
  if (!point.relative) {
    judged.state = GateState::Uncertain;
    judged.why = !point.ratio ? "A is not above 0, so there is no change in percent"
                              : fmt::format("{}, too few values ({}/{}) to be sure",
                                            percent(*point.ratio - 1), point.first.size(),
                                            point.second.size());
    return judged;
  }
  const stats::Interval& change = *point.relative;
  judged.why = fmt::format("{} [{}, {}]", percent(*point.ratio - 1), percent(change.low),
                           percent(change.high));
  const bool beyond = gate.below ? change.high < gate.limit : change.low > gate.limit;
  const bool within = gate.below ? change.low > gate.limit : change.high < gate.limit;
  judged.state = beyond ? GateState::Failed : within ? GateState::Passed : GateState::Uncertain;
  return judged;
}

}  // namespace

std::string Gate::short_text() const {
  return fmt::format("{}{}%", !below && limit >= 0 ? "+" : "", shortest(100.0 * limit));
}

std::optional<Gate> parse_gate(std::string_view text, std::string_view where,
                               Diagnostics& problems) {
  const auto fail = [&](std::string what, std::string hint) {
    problems.push_back({std::string(where), std::move(what), std::move(hint)});
    return std::nullopt;
  };
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) {
    return fail(fmt::format("'{}' is no limit", excerpt(text)),
                "write it as 'tokens_per_s < -3%': a metric, < or >, a change in percent");
  }
  const std::string_view name = trim(text.substr(0, sign));
  std::string_view change = trim(text.substr(sign + 1));
  const std::optional<Metric> metric = find_metric(name);
  if (!metric) {
    return fail(fmt::format("unknown metric '{}'", excerpt(name)),
                did_you_mean(name, metric_names()));
  }
  if (!change.ends_with('%')) {
    return fail(fmt::format("'{}' is no change in percent", excerpt(change)),
                "write it as 'tokens_per_s < -3%'");
  }
  change = trim(change.substr(0, change.size() - 1));
  if (change.starts_with('+')) {
    change.remove_prefix(1);
  }
  const std::optional<double> limit = parse_real(change);
  if (!limit || *limit <= -100) {
    return fail(fmt::format("'{}%' is no change in percent above -100", excerpt(change)), "");
  }
  // A double that is divided, so that -3 % is the number nearest to -0.03.
  return Gate{.metric = *metric,
              .below = text[sign] == '<',
              .limit = *limit / 100.0,
              .text = std::string(trim(text))};
}

std::string_view gate_state_name(GateState state) {
  return state == GateState::Passed   ? "passed"
         : state == GateState::Failed ? "failed"
                                      : "uncertain";
}

GateResult judge(const Gate& gate, const Comparison& comparison) {
  TB_CHECK(gate.metric.name == comparison.metric.name);
  GateResult result{.gate = gate};
  std::vector<double> p_values;
  std::vector<std::size_t> tested;
  for (const ComparedPoint& point : comparison.points) {
    result.points.push_back(judged_point(gate, point));
    if (point.relative) {
      p_values.push_back(p_at_limit(point, gate.limit));
      tested.push_back(result.points.size() - 1);
    }
  }
  const std::vector<double> corrected = stats::holm(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    GatedPoint& judged = result.points[tested[i]];
    if (judged.state == GateState::Failed && corrected[i] >= kGateP) {
      judged.state = GateState::Uncertain;
      judged.why += fmt::format(", p = {:.2g} for {} points", corrected[i], tested.size());
    }
  }
  for (const GatedPoint& judged : result.points) {
    result.state = std::max(result.state, judged.state);
  }
  return result;
}

}  // namespace tunebench::analyze
