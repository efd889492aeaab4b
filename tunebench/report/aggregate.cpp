#include "tunebench/report/aggregate.h"

#include <cmath>
#include <map>

#include "tunebench/experiment/property.h"
#include "tunebench/report/summary.h"
#include "tunebench/stats/summary.h"

namespace tunebench::report {
namespace {

using Records = std::vector<const record::Record*>;

void add_number(Json::Object& row, const record::Field& field, const Records& records) {
  std::vector<double> values;
  for (const record::Record* record : records) {
    const std::optional<double> value = record->number(field.name);
    if (value && std::isfinite(*value)) {
      values.push_back(*value);
    }
  }
  const std::optional<stats::Summary> summary = stats::summarize(values);
  row.emplace_back(field.name, summary ? Json(summary->median) : Json());
  if (field.better == record::Better::Neither) {
    return;
  }
  const bool interval = summary && summary->interval;
  row.emplace_back(field.name + "_ci_lo", interval ? Json(summary->interval->low) : Json());
  row.emplace_back(field.name + "_ci_hi", interval ? Json(summary->interval->high) : Json());
  row.emplace_back(field.name + "_n", static_cast<std::int64_t>(values.size()));
}

Json shared_value(const record::Field& field, const Records& records) {
  const Json value = records.empty() ? Json() : records.front()->get(field.name);
  for (const record::Record* record : records) {
    if (!(record->get(field.name) == value)) {
      return {};
    }
  }
  return value;
}

Json row_of(const PointSummary& point, const record::Record& first, const Records& valid) {
  Json head = Json::object();
  head.set("experiment", first.experiment)
      .set("status", valid.empty() && !point.failures.empty()
                         ? Json(record::outcome_name(point.failures.back().status))
                         : Json("ok"))
      .set("n", point.count())
      .set("failed", static_cast<std::int64_t>(point.failures.size()))
      .set("reason", point.failures.empty() ? Json("") : Json(point.failures.back().reason))
      .set("outliers", static_cast<std::int64_t>(point.outliers.size()));
  if (point.stability) {
    add_stability(head, *point.stability);
  } else {
    for (const char* name :
         {"runs", "f_gpu_oom", "f_host_oom", "f_other_error", "f_no_error", "is_valid"}) {
      head.set(name, Json());
    }
    head.set("is_valid", !valid.empty());
  }
  Json::Object row = head.as_object();
  for (const experiment::Property& property : experiment::properties()) {
    const auto input = first.inputs.find(property.name);
    row.emplace_back(property.name, input == first.inputs.end() ? Json() : input->second);
  }
  for (const record::Field& field : record::fields()) {
    const bool number =
        field.type == record::FieldType::Integer || field.type == record::FieldType::Real;
    if (number) {
      add_number(row, field, valid);
    } else {
      row.emplace_back(field.name, shared_value(field, valid));
    }
  }
  row.emplace_back("trainer_version", first.trainer_version);
  row.emplace_back("key", first.key);
  return Json::object(std::move(row));
}

}  // namespace

std::vector<Json> aggregate(std::span<const store::RunRecord> records) {
  struct Group {
    const record::Record* first = nullptr;
    Records valid;
  };
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const store::RunRecord& one : records) {
    const auto [place, added] = places.try_emplace(one.record.key, groups.size());
    if (added) {
      groups.push_back({&one.record, {}});
    }
    if (one.record.is_valid()) {
      groups[place->second].valid.push_back(&one.record);
    }
  }
  const std::vector<PointSummary> points = summarise(records);
  std::vector<Json> rows;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    rows.push_back(row_of(points[i], *groups[i].first, groups[i].valid));
  }
  return rows;
}

Json aggregate_columns() {
  return row_of({}, record::Record{}, {});
}

}  // namespace tunebench::report
