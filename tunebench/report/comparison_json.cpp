#include "tunebench/analyze/point_names.h"
#include "tunebench/base/text.h"
#include "tunebench/report/comparison.h"

namespace tunebench::report {
namespace {

using analyze::ComparedPoint;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json texts(const std::vector<std::string>& items) {
  return Json::array(Json::Array(items.begin(), items.end()));
}

Json numbers(const std::vector<double>& items) {
  return Json::array(Json::Array(items.begin(), items.end()));
}

Json inputs_json(const experiment::Inputs& inputs) {
  Json object = Json::object();
  for (const auto& [name, value] : inputs) {
    object.set(name, value);
  }
  return object;
}

Json point_json(const ComparedPoint& point, const analyze::Metric& metric) {
  Json row = Json::object();
  row.set("inputs", inputs_json(point.inputs))
      .set("experiment", point.experiment)
      .set("differing_inputs", texts(point.differing))
      .set("a", numbers(point.first))
      .set("b", numbers(point.second))
      .set("a_mean", point.first.empty() ? Json() : Json(point.first_mean))
      .set("b_mean", point.second.empty() ? Json() : Json(point.second_mean))
      .set("ratio", or_null(point.ratio))
      .set("ratio_ci_lo", point.relative ? Json(1 + point.relative->low) : Json())
      .set("ratio_ci_hi", point.relative ? Json(1 + point.relative->high) : Json())
      .set("difference", point.welch ? Json(point.welch->difference) : Json())
      .set("difference_ci_lo", point.welch ? Json(point.welch->interval.low) : Json())
      .set("difference_ci_hi", point.welch ? Json(point.welch->interval.high) : Json())
      .set("welch_t", point.welch ? Json(point.welch->t) : Json())
      .set("welch_degrees", point.welch ? Json(point.welch->degrees) : Json())
      .set("welch_p", point.welch ? Json(point.welch->p) : Json())
      .set("holm_p", or_null(point.corrected_p))
      .set("mann_whitney_p", or_null(point.mann_whitney_p))
      .set("verdict", change_name(metric, point.change))
      .set("failure", point.failure);
  return row;
}

Json lone_json(const std::vector<analyze::LonePoint>& points) {
  Json rows = Json::array();
  for (const analyze::LonePoint& point : points) {
    rows.push_back(
        Json::object({{"inputs", inputs_json(point.inputs)}, {"experiment", point.experiment}}));
  }
  return rows;
}

Json gates_json(const std::vector<analyze::GateResult>& gates) {
  Json rows = Json::array();
  for (const analyze::GateResult& gate : gates) {
    Json points = Json::array();
    for (const analyze::GatedPoint& judged : gate.points) {
      points.push_back(Json::object({{"inputs", inputs_json(judged.point->inputs)},
                                     {"state", gate_state_name(judged.state)},
                                     {"why", judged.why}}));
    }
    rows.push_back(Json::object({{"gate", gate.gate.text},
                                 {"metric", gate.gate.metric.name},
                                 {"state", gate_state_name(gate.state)},
                                 {"points", std::move(points)}}));
  }
  return rows;
}

}  // namespace

Json comparison_json(const ComparisonReport& report) {
  const analyze::Comparison& comparison = *report.comparison;
  Json points = Json::array();
  for (const std::size_t index : report.shown) {
    points.push_back(point_json(comparison.points[index], comparison.metric));
  }
  Json counts = Json::object();
  for (const analyze::Change change :
       {analyze::Change::Worse, analyze::Change::Better, analyze::Change::Same,
        analyze::Change::TooFew, analyze::Change::Failed, analyze::Change::Fixed}) {
    counts.set(std::string(change_name(comparison.metric, change)),
               static_cast<std::int64_t>(comparison.count(change)));
  }
  const auto side = [](const std::string& name, const std::string& started_at) {
    return Json::object({{"name", name}, {"started_at", started_at}});
  };
  return Json::object(
      {{"schema", "tunebench.compare/1"},
       {"a", side(report.first_name, report.first_started_at)},
       {"b", side(report.second_name, report.second_started_at)},
       {"metric", comparison.metric.name},
       {"unit", comparison.metric.unit},
       {"better", comparison.metric.higher_is_better ? "higher" : "lower"},
       {"environment_differences", texts(comparison.environment_full)},
       {"points", std::move(points)},
       {"points_in_both", static_cast<std::int64_t>(comparison.points.size())},
       {"only_in_a", lone_json(comparison.only_first)},
       {"only_in_b", lone_json(comparison.only_second)},
       {"shared_measurements", static_cast<std::int64_t>(comparison.shared_records)},
       {"geomean", or_null(comparison.geomean)},
       {"counts", std::move(counts)},
       {"gates", gates_json(report.gates)}});
}

}  // namespace tunebench::report
