#pragma once

#include <span>
#include <string>

#include "tunebench/base/json.h"

namespace tunebench::report {

/// Rows of report::aggregate as the reference system writes its entities in "target" format: an
/// unnamed index, identifier, generatorid, experiment_id, its four required inputs, other inputs
/// that are not at their default, its published targets, is_valid; of a stability experiment its
/// shares before is_valid. One row per point: medians over the valid attempts, no cell holds a
/// list, what was not measured is empty. Booleans are 1 and 0. Rows end with a line feed.
std::string to_ado_csv(std::span<const Json> aggregate_rows);

}  // namespace tunebench::report
