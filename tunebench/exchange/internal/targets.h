#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tunebench/record/record.h"

namespace tunebench::exchange {

/// What a column can be mapped to.
enum class TargetKind {
  None,
  Input,   ///< a property of experiments
  Figure,  ///< a field of records
  Other,   ///< status, reason, started_at, repeat, attempt, experiment, is_valid
};
TargetKind kind_of_target(std::string_view name);

/// What a point of elsewhere must say: the inputs that have no default here, and number_gpus, whose
/// default of 0 nobody can have meant.
const std::vector<std::string>& needed_inputs();

}  // namespace tunebench::exchange
