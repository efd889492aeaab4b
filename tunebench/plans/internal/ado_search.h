#pragma once

#include "tunebench/config/yaml_reader.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {

/// ray_tune's parameters to a search and its stoppers.
void read_ray_tune(const config::SourceText& source, const config::YamlNode& parameters,
                   PlanDocument& document, Diagnostics& problems);

/// Points of the space read so far, experiments not counted; 0: not known.
double points_of(const PlanDocument& document);

/// Names of dimensions; others are told with the nearest.
void check_dimension(config::MappingReader& reader, const config::YamlNode& name,
                     const PlanDocument& document);

/// The record field that an ado metric means: a target property, an observed one with its
/// experiment in front, or an aggregate of one; empty and a mistake when there is none.
std::string metric_of(config::MappingReader& reader, const config::YamlNode& node,
                      const PlanDocument& document);

/// runtimeConfig.stop.
void read_stoppers(config::MappingReader& reader, PlanDocument& document);

}  // namespace tunebench::plans
