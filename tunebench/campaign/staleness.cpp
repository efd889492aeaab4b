#include "tunebench/campaign/staleness.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/text.h"

namespace tunebench::campaign {
namespace {

std::string condition_text(const Json& conditions, std::string_view name) {
  const Json* value = conditions.find(name);
  return value == nullptr || !value->is_string() || value->as_string().empty() ? std::string("none")
                                                                               : value->as_string();
}

/// "driver 550 -> 570 (2 points), cuda 12 -> 13 (1 point)"; no counts where there is one kind.
std::string listed(const std::map<std::string, std::int64_t>& differences) {
  std::vector<std::string> parts;
  for (const auto& [difference, points] : differences) {
    parts.push_back(differences.size() == 1
                        ? difference
                        : fmt::format("{} ({})", difference, with_thousands(points)));
  }
  return join(parts, "; ");
}

}  // namespace

std::string condition_differences(const Json& before, const Json& now) {
  if (!before.is_object() || !now.is_object()) {
    return "";
  }
  std::vector<std::string> parts;
  for (const std::string_view name : record::condition_names()) {
    const std::string old_text = condition_text(before, name);
    const std::string new_text = condition_text(now, name);
    if (old_text != new_text) {
      parts.push_back(fmt::format("{} {} -> {}", name, printable(old_text), printable(new_text)));
    }
  }
  return join(parts, ", ");
}

void StaleResults::sort_out(const PlannedPoint& point, const Plan& plan, const store::Store& store,
                            std::int64_t now, std::vector<record::Record>& records) {
  // Times of one format are ordered as texts are.
  const std::string oldest = plan.max_age_s ? iso_time(now - *plan.max_age_s) : "";
  const std::size_t known = records.size();
  std::erase_if(records, [&](const record::Record& one) { return one.started_at < oldest; });
  if (!looked_at_.insert(point.key).second) {
    return;
  }
  too_old += known > 0 && records.empty() ? 1 : 0;
  if (known > 0 && !plan.accept_stale) {
    return;
  }
  std::vector<record::Record> stale = store.stale(point.point_key, point.key);
  std::erase_if(stale, [&](const record::Record& one) {
    return one.started_at < oldest ||
           condition_differences(one.conditions, point.conditions).empty();
  });
  if (stale.empty()) {
    return;
  }
  if (plan.accept_stale) {
    const auto wanted = static_cast<std::size_t>(plan.repeats.count);
    if (records.size() >= wanted) {
      return;
    }
    stale.resize(std::min(stale.size(), wanted - records.size()));
  }
  ++points;
  ++differences[condition_differences(stale.front().conditions, point.conditions)];
  if (plan.accept_stale) {
    std::ranges::move(stale, std::back_inserter(records));
  }
}

std::string StaleResults::text(const Plan& plan) const {
  std::vector<std::string> lines;
  const auto points_have = [this](std::int64_t count) {
    return fmt::format("{} of {} points {}", with_thousands(count), with_thousands(of_points),
                       count == 1 ? "has" : "have");
  };
  if (points > 0 && plan.accept_stale) {
    lines.push_back(fmt::format("{} of {} points {} older results that are not comparable: {}.",
                                with_thousands(points), with_thousands(of_points),
                                points == 1 ? "reuses" : "reuse", listed(differences)));
  } else if (points > 0) {
    lines.push_back(
        fmt::format("{} older results that are not comparable: {}. Measuring again "
                    "(use --accept-stale to reuse).",
                    points_have(points), listed(differences)));
  }
  if (too_old > 0) {
    lines.push_back(fmt::format("{} results older than {} only. Measuring again.",
                                points_have(too_old), plan.max_age_text));
  }
  return join(lines, "\n");
}

std::vector<StaleGroup> find_stale(const store::Store& store, const ConditionsToday& today) {
  std::vector<std::string> columns{"status",    "trainer", "trainer_version", "number_gpus",
                                   "point_key", "run",     "started_at"};
  const std::size_t first_condition = columns.size();
  for (const std::string_view name : record::condition_names()) {
    columns.emplace_back(name);
  }
  const auto text = [](const Json& value) {
    return value.is_string() ? value.as_string() : std::string();
  };
  std::map<std::string, StaleGroup> groups;
  std::set<std::string> current;  // points that have a result of today
  store.scan({.columns = columns, .run = {}}, [&](std::span<const Json> row) {
    const std::string point = text(row[4]);
    if (text(row[0]) != "ok" || point.empty()) {
      return;
    }
    Json then = Json::object();
    for (std::size_t i = first_condition; i < row.size(); ++i) {
      then.set(columns[i], row[i].is_null() || row[i].is_string() ? row[i] : Json(row[i].dump()));
    }
    const Json now = today(text(row[1]), text(row[2]), row[3].is_int() ? row[3].as_int() : 0);
    if (!now.is_object()) {
      return;
    }
    const std::string difference = condition_differences(then, now);
    if (difference.empty()) {
      current.insert(point);
      return;
    }
    StaleGroup& group = groups[difference];
    group.difference = difference;
    ++group.measurements;
    group.points.insert(point);
    group.runs.insert(text(row[5]));
    group.newest = std::max(group.newest, text(row[6]));
  });
  std::vector<StaleGroup> found;
  for (auto& [difference, group] : groups) {
    std::erase_if(group.points, [&](const std::string& point) { return current.contains(point); });
    if (!group.points.empty()) {
      found.push_back(std::move(group));
    }
  }
  std::ranges::sort(found, [](const StaleGroup& a, const StaleGroup& b) {
    return a.points.size() > b.points.size();
  });
  return found;
}

std::optional<std::int64_t> age_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"min", 60.0}, {"d", 86400.0}, {"h", 3600.0}, {"s", 1.0}}};
  constexpr double kHundredYears = 100 * 366 * 86400.0;
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) {
      continue;
    }
    const std::optional<double> number =
        parse_real(trim(text.substr(0, text.size() - unit.size())));
    if (!number || *number <= 0 || *number * seconds > kHundredYears) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(*number * seconds);
  }
  return std::nullopt;
}

}  // namespace tunebench::campaign
