#include "tunebench/report/ranking.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/analyze/point_names.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/short_name.h"
#include "tunebench/report/text_table.h"

namespace tunebench::report {
namespace {

std::string value_text(double value) {
  return std::abs(value) >= 999.5 ? with_thousands(std::llround(value))
                                  : fmt::format("{:#.4g}", value);
}

std::string objective_text(const analyze::Objective& objective) {
  return (objective.maximise ? "max " : "min ") + objective.name;
}

std::string left_out_line(const RankedPoints& points) {
  if (points.left_out == 0) {
    return "";
  }
  return fmt::format("{} point{} left out: no value of {}\n", points.left_out,
                     points.left_out == 1 ? "" : "s",
                     points.objectives.size() == 1 ? points.objectives[0].name : "an objective");
}

/// How a point stands: "*", "* knee", "~ length=512 batch=8", "- length=512 batch=8".
std::string standing(const RankedPoints& points, const analyze::ParetoPoint& point,
                     std::span<const std::string> names) {
  const std::string other =
      point.dominated_by ? analyze::point_title(points.inputs[*point.dominated_by], names) : "";
  if (!point.on_front) {
    return "dominated by " + other;
  }
  return point.near ? "~ close to " + other : point.knee ? "* knee" : "*";
}

Json inputs_object(const experiment::Inputs& inputs) {
  Json object = Json::object();
  for (const auto& [name, value] : inputs) {
    object.set(name, value);
  }
  return object;
}

Json figures_object(const RankedPoints& points, std::size_t index) {
  Json object = Json::object();
  for (std::size_t i = 0; i < points.objectives.size(); ++i) {
    const analyze::Figure& figure = points.figures[index][i];
    object.set(points.objectives[i].name,
               Json::object({{"value", figure.value}, {"ci_half_width", figure.half_width}}));
  }
  return object;
}

Json point_object(const RankedPoints& points, std::size_t index) {
  return Json::object({{"inputs", inputs_object(points.inputs[index])},
                       {"figures", figures_object(points, index)}});
}

Json objectives_json(const RankedPoints& points) {
  Json rows = Json::array();
  for (const analyze::Objective& objective : points.objectives) {
    rows.push_back(Json::object(
        {{"metric", objective.name}, {"direction", objective.maximise ? "max" : "min"}}));
  }
  return rows;
}

/// "model=tiny: ", or nothing without groups.
std::string group_text(std::span<const std::string> names, const Json::Array& values) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    parts.push_back(names[i] + "=" + printable(analyze::input_text(values[i])));
  }
  return parts.empty() ? "" : join(parts, " ") + ": ";
}

std::string change_text(double change) {
  return fmt::format("{:+.1f} %", 100.0 * change);
}

std::string best_line(const RankedPoints& points, const BestOfGroup& group,
                      std::span<const std::string> names) {
  const auto title = [&](std::size_t member) {
    return printable(analyze::point_title(points.inputs[group.members[member]], names));
  };
  const auto value = [&](std::size_t member) {
    return points.figures[group.members[member]][0].value;
  };
  std::string text =
      fmt::format("{} ({}", title(group.best.best), value_text(value(group.best.best)));
  if (group.best.next) {
    text += fmt::format("; next is {}: {}", title(*group.best.next),
                        value_text(value(*group.best.next)));
    text += group.best.next_change ? ", " + change_text(*group.best.next_change) : "";
  }
  text += ")\n";
  if (!group.best.tied.empty()) {
    std::vector<std::string> tied;
    for (const std::size_t member : group.best.tied) {
      tied.push_back(title(member));
    }
    text += fmt::format("  tie: cannot be told from {} (below 1 %, or the intervals overlap)\n",
                        join(tied, ", "));
  }
  return text;
}

}  // namespace

std::string pareto_text(const RankedPoints& points, std::span<const analyze::ParetoPoint> front) {
  const std::vector<std::string> names = analyze::varying_inputs(points.inputs);
  std::vector<std::string> wanted;
  for (const analyze::Objective& objective : points.objectives) {
    wanted.push_back(objective_text(objective));
  }
  TextTable table;
  for (const std::string& name : names) {
    const bool number =
        std::all_of(points.inputs.begin(), points.inputs.end(), [&](const auto& inputs) {
          const auto found = inputs.find(name);
          return found != inputs.end() && found->second.is_number();
        });
    table.add_column(experiment::short_name(name),
                     number ? TextTable::Align::Right : TextTable::Align::Left);
  }
  for (const analyze::Objective& objective : points.objectives) {
    table.add_column(objective.name, TextTable::Align::Right);
  }
  table.add_column("front");
  bool near = false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < front.size(); ++i) {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const auto found = points.inputs[i].find(name);
      cells.push_back(found == points.inputs[i].end() ? "" : analyze::input_text(found->second));
    }
    for (const analyze::Figure& figure : points.figures[i]) {
      cells.push_back(value_text(figure.value));
    }
    cells.push_back(standing(points, front[i], names));
    table.add_row(std::move(cells));
    near = near || front[i].near;
    count += front[i].on_front ? 1U : 0U;
  }
  std::string text =
      fmt::format("pareto of {}: {}\n{}{} of {} points on the front\n", points.origin,
                  join(wanted, ", "), table.text(), count, front.size());
  text += near ? "~: better only by less than the joint 95 % interval, so both stay\n" : "";
  return text + left_out_line(points);
}

Json pareto_json(const RankedPoints& points, std::span<const analyze::ParetoPoint> front) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < front.size(); ++i) {
    Json row = point_object(points, i);
    row.set("on_front", front[i].on_front)
        .set("near", front[i].near)
        .set("knee", front[i].knee)
        .set("dominated_by", front[i].dominated_by
                                 ? Json(static_cast<std::int64_t>(*front[i].dominated_by))
                                 : Json());
    rows.push_back(std::move(row));
  }
  return Json::object({{"schema", "tunebench.pareto/1"},
                       {"of", points.origin},
                       {"objectives", objectives_json(points)},
                       {"points", std::move(rows)},
                       {"left_out", static_cast<std::int64_t>(points.left_out)}});
}

std::string best_text(const RankedPoints& points, std::span<const std::string> group_names,
                      std::span<const BestOfGroup> groups) {
  const std::vector<std::string> names = analyze::varying_inputs(points.inputs);
  std::string text;
  for (const BestOfGroup& group : groups) {
    text += fmt::format("{}{} {}: {}", group_text(group_names, group.group),
                        points.objectives[0].maximise ? "best" : "least", points.objectives[0].name,
                        best_line(points, group, names));
  }
  return text + left_out_line(points);
}

Json best_json(const RankedPoints& points, std::span<const std::string> group_names,
               std::span<const BestOfGroup> groups) {
  Json rows = Json::array();
  for (const BestOfGroup& group : groups) {
    Json values = Json::object();
    for (std::size_t i = 0; i < group_names.size(); ++i) {
      values.set(group_names[i], group.group[i]);
    }
    Json tied = Json::array();
    for (const std::size_t member : group.best.tied) {
      tied.push_back(point_object(points, group.members[member]));
    }
    const analyze::Best& best = group.best;
    rows.push_back(Json::object(
        {{"group", std::move(values)},
         {"points", static_cast<std::int64_t>(group.members.size())},
         {"best", point_object(points, group.members[best.best])},
         {"next", best.next ? point_object(points, group.members[*best.next]) : Json()},
         {"next_change", best.next_change ? Json(*best.next_change) : Json()},
         {"tied", std::move(tied)}}));
  }
  return Json::object({{"schema", "tunebench.best/1"},
                       {"of", points.origin},
                       {"objectives", objectives_json(points)},
                       {"groups", std::move(rows)},
                       {"left_out", static_cast<std::int64_t>(points.left_out)}});
}

}  // namespace tunebench::report
