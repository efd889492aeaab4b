#pragma once

#include "tunebench/engine/core/view.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// Fills `table` [positions, E] for Ops::rope with the angles of model::rope_frequencies: cosines,
/// then sines.
void fill_rope_table(const model::ModelSpec& spec, View table);

}  // namespace tunebench::engine
