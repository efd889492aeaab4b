#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// Fills `table` [positions, R] for Ops::rope with the angles of model::rope_frequencies for a
/// longest sequence of `length` tokens: cosines, then sines, times the amplitude of the scaling.
void fill_rope_table(const model::ModelSpec& spec, std::int64_t length, View table);

/// The same with model::local_rope_frequencies.
void fill_local_rope_table(const model::ModelSpec& spec, View table);

}  // namespace tunebench::engine
