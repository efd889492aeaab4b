#pragma once

#include <vector>

#include "tunebench/model/model_family.h"

namespace tunebench::model {

/// Appends the families whose blocks hold a mixture of experts.
void add_expert_families(std::vector<Family>& list);

}  // namespace tunebench::model
