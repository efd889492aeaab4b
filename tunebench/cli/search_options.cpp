#include "tunebench/cli/search_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/campaign/staleness.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/record/record.h"

namespace tunebench::cli {

namespace {

std::vector<std::string> search_names() {
  std::vector<std::string> names;
  for (const plans::SearchMethod& method : plans::search_methods()) {
    names.push_back(method.name);
  }
  return names;
}

/// "tokens_per_s", "max tokens_per_s", "min host_peak_bytes": without a word, what is better.
void add_objective(const config::GivenOption& given, std::string_view text,
                   campaign::Request& request, Diagnostics& problems) {
  std::optional<bool> maximize;
  for (const std::string_view word : {"max ", "min "}) {
    if (text.starts_with(word)) {
      maximize = word == "max ";
      text = trim(text.substr(word.size()));
    }
  }
  const record::Field* field = record::find_field(text);
  if (field == nullptr || field->type == record::FieldType::Text ||
      field->type == record::FieldType::Boolean) {
    std::vector<std::string> names;
    for (const record::Field& one : record::fields()) {
      names.push_back(one.name);
    }
    problems.push_back({given.spelled,
                        field == nullptr ? fmt::format("unknown metric '{}'", excerpt(text))
                                         : fmt::format("metric '{}' is no number", field->name),
                        field == nullptr ? did_you_mean(text, names) : ""});
    return;
  }
  if (!maximize && field->better == record::Better::Neither) {
    problems.push_back({given.spelled,
                        fmt::format("'{}' is neither better high nor low", field->name),
                        fmt::format("'max {}' or 'min {}'", field->name, field->name)});
    return;
  }
  request.search.objectives.push_back(
      {field->name, maximize.value_or(field->better == record::Better::Higher)});
}

std::optional<std::int64_t> count_of(const config::CommandLine& line, const char* name,
                                     Diagnostics& problems) {
  return line.has(name) ? std::optional(integer_option(line, name, 1, 1, problems)) : std::nullopt;
}

void read_stop_options(const config::CommandLine& line, campaign::StopRequest& stop,
                       Diagnostics& problems) {
  stop.points = count_of(line, "max_points", problems);
  stop.no_improvement = count_of(line, "stop_no_improvement", problems);
  if (const config::GivenOption* time = line.find("stop_time")) {
    const std::optional<std::int64_t> seconds = campaign::age_of(time->value);
    const std::optional<double> plain = parse_real(time->value);
    if (!seconds && !(plain && *plain > 0)) {
      problems.push_back({time->spelled,
                          fmt::format("'{}' is not a time above 0", printable(time->value)),
                          "90, 10min, 2h"});
    }
    stop.time_s = seconds ? std::optional(static_cast<double>(*seconds)) : plain;
  }
  if (const config::GivenOption* cost = line.find("stop_cost")) {
    stop.cost = parse_real(cost->value);
    if (!stop.cost || *stop.cost <= 0) {
      problems.push_back(
          {cost->spelled, fmt::format("'{}' is not a cost above 0", printable(cost->value)), ""});
    }
  }
  if (const config::GivenOption* interval = line.find("stop_interval")) {
    std::string_view text = interval->value;
    text = trim(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
    const std::optional<double> percent = parse_real(text);
    if (!percent || *percent <= 0) {
      problems.push_back(
          {interval->spelled,
           fmt::format("'{}' is not a percentage above 0", printable(interval->value)), "1%"});
    }
    stop.interval = percent.value_or(1) / 100;
  }
  for (const char* name :
       {"max_points", "stop_time", "stop_cost", "stop_no_improvement", "stop_interval"}) {
    if (const config::GivenOption* given = line.find(name)) {
      stop.where = given->spelled;
    }
  }
}

}  // namespace

std::vector<config::OptionSpec> search_options() {
  const std::string group = "search";
  return {
      {.name = "search",
       .value_name = "METHOD",
       .help =
           "how points are chosen, one after the other: " + join(search_names(), ", ") +
           " (docs/search.md); default grid: all of them. Parameters of a method stand in a plan",
       .group = group},
      {.name = "optimize",
       .value_name = "METRIC",
       .help =
           "what the search makes large or, where less is better, small; also 'max METRIC', 'min "
           "METRIC'; up to three with commas: by hypervolume. Default tokens_per_s",
       .group = group},
      {.name = "max_points", .value_name = "N", .help = "end after so many points", .group = group},
      {.name = "search_seed",
       .value_name = "N",
       .help = "of the search; default 1",
       .group = group},
      {.name = "stop_time",
       .value_name = "TIME",
       .help = "end when measuring took so long: 90, 10min, 2h",
       .group = group},
      {.name = "stop_cost",
       .value_name = "P",
       .help = "end when measuring cost so much by --price",
       .group = group},
      {.name = "stop_no_improvement",
       .value_name = "N",
       .help = "end when so many points in a row were not better than the best",
       .group = group},
      {.name = "stop_interval",
       .value_name = "PERCENT",
       .help =
           "end when half the 95 % interval of the best point is at most this share of its mean",
       .group = group}};
}

void read_search_options(const config::CommandLine& line, campaign::Request& request,
                         Diagnostics& problems) {
  if (const config::GivenOption* search = line.find("search")) {
    const std::vector<std::string> names = search_names();
    if (std::ranges::find(names, search->value) == names.end()) {
      problems.push_back({search->spelled,
                          fmt::format("unknown search '{}'", printable(search->value)),
                          did_you_mean(search->value, names)});
    } else {
      request.search.method = search->value;
      request.search.where = search->spelled;
    }
  }
  if (line.has("search_seed")) {
    request.search.parameters.set("seed", integer_option(line, "search_seed", 1, 0, problems));
  }
  if (const config::GivenOption* optimize = line.find("optimize")) {
    for (const std::string& part : split(optimize->value, ',')) {
      add_objective(*optimize, trim(part), request, problems);
    }
  }
  read_stop_options(line, request.stop, problems);
  Diagnostics told_elsewhere;
  request.price = price_of(line, told_elsewhere);
}

}  // namespace tunebench::cli
