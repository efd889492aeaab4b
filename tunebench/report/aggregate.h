#pragma once

#include <span>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/store/store.h"

namespace tunebench::report {

/// One flat row per point, in the order in which they first occur: experiment, trainer, status,
/// n (valid attempts), failed, reason of the last failure, outliers, runs and shares of a stability
/// experiment (null for others), all inputs, then the fields. A field that has a better direction
/// gives x (the median), x_ci_lo, x_ci_hi (95 % interval of the mean, which is in its middle; null
/// for one value) and x_n; another number its median; a text the value that all attempts share,
/// else null.
std::vector<Json> aggregate(std::span<const store::RunRecord> records);

/// A row without values: the columns.
Json aggregate_columns();

}  // namespace tunebench::report
