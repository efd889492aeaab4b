#include <filesystem>
#include <memory>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/preview.h"
#include "tunebench/cli/asked.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/report/text_table.h"
#include "tunebench/space/space.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

using campaign::Preview;
using campaign::PreviewPoint;

std::string status_of(const PreviewPoint& point) {
  if (point.excluded_by) {
    return "excluded";
  }
  if (point.failed_before) {
    return "known invalid";
  }
  if (!point.invalid.empty()) {
    return "invalid";
  }
  if (point.to_measure() == 0) {
    return point.wanted == 1 ? "reused" : fmt::format("reused {}", point.wanted);
  }
  const std::string status = point.reused > 0
                                 ? fmt::format("reused {} of {}", point.reused, point.wanted)
                                 : std::string("new");
  return point.fits() ? status : status + ", does not fit";
}

std::string reason_of(const PreviewPoint& point, const Preview& preview) {
  if (point.excluded_by) {
    return "by " + preview.rules[*point.excluded_by].text;
  }
  if (!point.invalid.empty()) {
    return point.invalid;
  }
  return point.fits()
             ? ""
             : fmt::format("needs {} (predicted), may use {}", format_bytes(*point.needed_bytes),
                           format_bytes(point.may_use_bytes));
}

/// Sums over the points that were looked at.
struct Totals {
  std::int64_t points = 0;
  std::int64_t measurements = 0;
  std::int64_t reused = 0;
  std::int64_t invalid = 0;
  std::int64_t does_not_fit = 0;
  std::optional<double> seconds = {};
  std::optional<double> cost = {};
};

Totals totals_of(const Preview& preview) {
  Totals totals;
  for (const PreviewPoint& point : preview.points) {
    if (point.excluded_by) {
      continue;
    }
    ++totals.points;
    totals.measurements += point.wanted;
    totals.reused += point.reused;
    totals.invalid += point.invalid.empty() ? 0 : 1;
    totals.does_not_fit += point.fits() ? 0 : 1;
    if (point.seconds) {
      totals.seconds = totals.seconds.value_or(0) + *point.seconds;
    }
    if (point.cost) {
      totals.cost = totals.cost.value_or(0) + *point.cost;
    }
  }
  return totals;
}

std::string points_word(double count) {
  return count == 1 ? "point" : "points";
}

std::string table_of(const Preview& preview) {
  report::TextTable table;
  for (const char* title : {"point", "what", "memory", "time", "cost", "why"}) {
    const bool number = std::string_view(title) == "memory" || std::string_view(title) == "time" ||
                        std::string_view(title) == "cost";
    table.add_column(title,
                     number ? report::TextTable::Align::Right : report::TextTable::Align::Left);
  }
  for (const PreviewPoint& point : preview.points) {
    const bool measured = !point.excluded_by && point.invalid.empty() && point.to_measure() > 0;
    table.add_row({point.title.empty() ? "the only one" : point.title, status_of(point),
                   point.needed_bytes ? format_bytes(*point.needed_bytes) : "",
                   measured && point.seconds ? format_duration(*point.seconds) : "",
                   measured && point.cost ? fmt::format("{:.3g}", *point.cost) : "",
                   reason_of(point, preview)});
  }
  return table.text();
}

std::string summary_of(const Preview& preview) {
  const Totals totals = totals_of(preview);
  std::string text = fmt::format("plan: {} {}", space::count_text(preview.kept, preview.exact),
                                 points_word(preview.kept));
  text += preview.repeats.count > 1 ? fmt::format(" x {} repeats", preview.repeats.count) : "";
  if (preview.all) {
    text += fmt::format(", {} to measure, {} reused", totals.measurements - totals.reused,
                        totals.reused);
    text += totals.invalid > 0 ? fmt::format(", {} invalid", totals.invalid) : "";
    text += totals.does_not_fit > 0 ? fmt::format(", {} predicted not to fit", totals.does_not_fit)
                                    : "";
  } else if (preview.gave_up) {
    text +=
        fmt::format("; the rules exclude so many that only {} were found in time", totals.points);
  } else {
    text += fmt::format("; the first {} were looked at (--limit N)", totals.points);
  }
  text += "\n";
  for (const campaign::PreviewRule& rule : preview.rules) {
    text += fmt::format("{} {} excluded by `{}`\n", space::count_text(rule.excluded, preview.exact),
                        points_word(rule.excluded), rule.text);
  }
  // What was looked at stands for all.
  const double scale =
      preview.all || totals.points == 0 ? 1 : preview.kept / static_cast<double>(totals.points);
  if (totals.seconds) {
    text += fmt::format("time: about {}", format_duration(*totals.seconds * scale));
    text += totals.cost ? fmt::format(", cost about {:.3g}", *totals.cost * scale) : "";
    text += fmt::format(" ({})\n", preview.time_source);
  } else {
    text += fmt::format("time: unknown ({})\n", preview.time_source);
  }
  return text + "nothing was measured or written\n";
}

Json point_json(const PreviewPoint& point, const Preview& preview) {
  Json inputs = Json::object();
  for (const auto& [name, value] : point.point.inputs) {
    inputs.set(name, value);
  }
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  return Json::object(
      {{"title", point.title},
       {"experiment", point.point.experiment},
       {"status", point.excluded_by         ? "excluded"
                  : !point.invalid.empty()  ? "invalid"
                  : point.to_measure() == 0 ? "reused"
                                            : "new"},
       {"excluded_by", point.excluded_by ? Json(preview.rules[*point.excluded_by].text) : Json()},
       {"reason", point.invalid.empty() ? Json() : Json(point.invalid)},
       {"wanted", point.wanted},
       {"reused", point.reused},
       {"fits", point.fits()},
       {"needed_bytes", point.needed_bytes ? Json(*point.needed_bytes) : Json()},
       {"may_use_bytes", point.may_use_bytes > 0 ? Json(point.may_use_bytes) : Json()},
       {"seconds", number(point.seconds)},
       {"cost", number(point.cost)},
       {"inputs", std::move(inputs)}});
}

std::string preview_json(const Preview& preview) {
  const Totals totals = totals_of(preview);
  Json rules = Json::array();
  for (const campaign::PreviewRule& rule : preview.rules) {
    rules.push_back(
        Json::object({{"rule", rule.text}, {"where", rule.where}, {"excluded", rule.excluded}}));
  }
  Json points = Json::array();
  for (const PreviewPoint& point : preview.points) {
    points.push_back(point_json(point, preview));
  }
  return Json::object({{"size", preview.size},
                       {"points_kept", preview.kept},
                       {"exact", preview.exact},
                       {"all_listed", preview.all},
                       {"repeats", preview.repeats.count},
                       {"to_measure", totals.measurements - totals.reused},
                       {"reused", totals.reused},
                       {"invalid", totals.invalid},
                       {"does_not_fit", totals.does_not_fit},
                       {"seconds", totals.seconds ? Json(*totals.seconds) : Json()},
                       {"cost", totals.cost ? Json(*totals.cost) : Json()},
                       {"time_source", preview.time_source},
                       {"rules", std::move(rules)},
                       {"points", std::move(points)}})
             .dump(2) +
         "\n";
}

/// nullptr when nothing was ever kept there: planning writes nothing.
std::unique_ptr<store::Store> open_if_there(const std::string& location) {
  try {
    return store::open_store(location, store::OpenMode::ReadOnly);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) {
      throw;
    }
    return nullptr;
  }
}

int plan(const Invocation& invocation, Console& console) {
  if (invocation.line.has("schema") && invocation.problems.empty()) {
    write_result(console, plans::plan_schema(run_options()).dump(2) + "\n");
    return kOk;
  }
  Diagnostics problems = invocation.problems;
  const Asked asked = ask(invocation, problems);
  campaign::PreviewOptions options{.price = price_of(asked.line, problems)};
  if (invocation.line.has("limit")) {
    options.limit = integer_option(invocation.line, "limit", 1, 1, problems);
  }
  const std::unique_ptr<store::Store> store =
      problems.empty() ? open_if_there(store::default_store_location(asked.line.value("store")))
                       : nullptr;
  Preview preview;
  if (asked.files_are_wrong) {
    campaign::check_rule_texts(asked.request, problems);
  } else {
    preview = campaign::make_preview(asked.request, asked.machine, store.get(), options, problems);
  }
  if (!problems.empty()) {
    print_plan_problems(console, invocation, problems);
    return kUsage;
  }
  if (const config::GivenOption* save = invocation.line.find("save_plan")) {
    return save_plan(asked, save->value, console);
  }
  print_notes(console, asked.notes);
  write_result(console,
               invocation.json() ? preview_json(preview) : table_of(preview) + summary_of(preview));
  return kOk;
}

}  // namespace

Command plan_command() {
  config::CommandSpec spec{
      .name = "plan",
      .summary =
          "tell what a run of the same words would do: reused, new and excluded points, memory, "
          "time and cost. Measures nothing, writes nothing.",
      .details = "A space of any size is looked at lazily: --limit 10 of 10^9 points is at once.",
      .arguments = {{.name = "FILE",
                     .help = "a plan file, or files of ado",
                     .required = false,
                     .repeats = true}},
      .options = asking_options(),
      .examples = {"tunebench plan --model tiny --length 32,64 --batch 1..8",
                   "tunebench plan plan.yaml --limit 10",
                   "tunebench plan --schema > tunebench-plan.schema.json"}};
  spec.options.insert(
      spec.options.begin(),
      {{.name = "limit",
        .value_name = "N",
        .help = "look at the first N points only; default: all of up to 1,000, 20 of more"},
       {.name = "schema",
        .takes_value = false,
        .help = "print the JSON Schema of plan files, for yaml-language-server"}});
  return {std::move(spec), plan};
}

}  // namespace tunebench::cli
