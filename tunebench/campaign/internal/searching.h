#pragma once

#include "tunebench/campaign/campaign.h"

namespace tunebench::campaign {

/// run_campaign of a plan with a search: one point after the other, each measured as often as is
/// wanted before the next is chosen. What was chosen is not kept: it follows from the records of
/// the run in their order, so that an interrupted run goes on as if it had not been.
Result run_search(const Plan& plan, const Tools& tools, Observer& observer);

}  // namespace tunebench::campaign
