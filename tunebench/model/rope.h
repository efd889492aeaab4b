#pragma once

#include <cstdint>
#include <vector>

#include "tunebench/model/model_spec.h"

namespace tunebench::model {

/// Radians per position of each of the rotated() / 2 pairs, scaling included, for a batch whose
/// longest sequence has `length` tokens (0: not longer than the trained range).
///
/// Sources: Su et al. 2021, arXiv:2104.09864; linear: arXiv:2306.15595; llama3: wavelengths
/// above original_max_positions / low_freq_factor are stretched by `factor`, those below
/// original_max_positions / high_freq_factor kept, the ones between blended; dynamic: the base
/// grows with the length beyond max_positions; yarn: Peng et al. 2023, arXiv:2309.00071;
/// longrope: Ding et al. 2024, arXiv:2402.13753, one factor for each pair.
std::vector<double> rope_frequencies(const ModelSpec& spec, std::int64_t length = 0);

/// The same for the layers with a window of a model that rotates them by another base.
std::vector<double> local_rope_frequencies(const ModelSpec& spec);

/// Equal for lengths of equal rope_frequencies; 0 for all where they do not depend on the length.
std::int64_t rope_length_class(const ModelSpec& spec, std::int64_t length);

/// The amplitude of yarn when config.json does not tell it.
double yarn_amplitude(double factor);

/// The amplitude of longrope when config.json does not tell it.
double longrope_amplitude(double factor, std::int64_t original_max_positions);

}  // namespace tunebench::model
