#pragma once

#include <functional>

#include "tunebench/campaign/campaign.h"
#include "tunebench/measure/measure.h"
#include "tunebench/record/record.h"

namespace tunebench::campaign {

/// Measures a position once and makes its record whole: identity, facts of the point, conditions,
/// where it was measured. Nothing is stored. Errors: those of starting a child.
record::Record make_attempt(const Plan& plan, const Tools& tools, const std::string& run,
                            const Position& position,
                            const std::function<void(const measure::Progress&)>& progress);

}  // namespace tunebench::campaign
