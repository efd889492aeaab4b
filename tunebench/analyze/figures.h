#pragma once

#include <optional>
#include <string_view>

#include "tunebench/analyze/columns.h"
#include "tunebench/analyze/pareto.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::analyze {

/// The figure of that name in a row of one point (its median, and the interval of the mean from
/// NAME_ci_lo and NAME_ci_hi); nullopt when the row has no number there. `name` is one of columns.
std::optional<Figure> figure_of(const Json& row, const Columns& columns, std::string_view name);

/// The inputs that a row holds; those that are null are left out.
experiment::Inputs inputs_of(const Json& row);

}  // namespace tunebench::analyze
