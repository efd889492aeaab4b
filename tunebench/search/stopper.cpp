#include "tunebench/search/stopper.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/search/internal/stoppers.h"

namespace tunebench::search {
namespace {

std::vector<StopperKind> stopper_kinds() {
  std::vector<StopperKind> kinds;
  for (std::vector<StopperKind> part :
       {limit_stoppers(), convergence_stoppers(), ado_stoppers(), information_gain_stoppers()}) {
    std::ranges::move(part, std::back_inserter(kinds));
  }
  return kinds;
}

}  // namespace

Json to_json(const StopReport& report) {
  Json json = Json::object();
  json.set("name", report.name);
  json.set("stop", report.stop);
  json.set("text", report.text);
  json.set("numbers", report.numbers);
  return json;
}

std::vector<std::string> stopper_names() {
  std::vector<std::string> names;
  for (const StopperKind& kind : stopper_kinds()) {
    names.emplace_back(kind.name);
  }
  return names;
}

std::unique_ptr<Stopper> make_stopper(const StopConfig& config, const StopContext& context,
                                      Diagnostics& problems) {
  const std::vector<StopperKind> kinds = stopper_kinds();
  const auto kind = std::ranges::find(kinds, config.name, &StopperKind::name);
  if (kind == kinds.end()) {
    problems.push_back({{},
                        fmt::format("there is no stopper '{}'", excerpt(config.name)),
                        did_you_mean(config.name, stopper_names())});
    return nullptr;
  }
  const Parameters parameters(config, kind->rules, context, problems);
  return parameters.good() ? kind->make(parameters, context) : nullptr;
}

std::vector<StopReport> stop_reports(std::span<const std::unique_ptr<Stopper>> stoppers,
                                     std::span<const Observation> history) {
  std::vector<StopReport> reports;
  for (const std::unique_ptr<Stopper>& stopper : stoppers) {
    reports.push_back(stopper->report(history));
  }
  return reports;
}

}  // namespace tunebench::search
