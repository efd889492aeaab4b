#pragma once

#include "tunebench/config/yaml_reader.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {

// Parts of a plan that have no option. `reader` is that of the whole plan.
void read_search(const config::YamlDocument& file, config::MappingReader& reader,
                 PlanDocument& document);
void read_stop(const config::YamlDocument& file, config::MappingReader& reader,
               PlanDocument& document);
void read_compare(const config::YamlDocument& file, config::MappingReader& reader,
                  PlanDocument& document);

/// A metric that can be made large or small; unknown ones are told with the nearest.
bool check_metric(const config::SourceText& source, config::Place place, const std::string& metric,
                  std::string_view in, Diagnostics& problems);

/// "90", "90 s", "1.5 h" to seconds.
std::optional<double> seconds_of(std::string_view text);
/// "1%" to 0.01.
std::optional<double> share_of(std::string_view text);

}  // namespace tunebench::plans
