#pragma once

#include <cstdint>
#include <string_view>

#include "tunebench/engine/core/view.h"

namespace tunebench::engine {

/// Uniform numbers in [-bound, bound) into a contiguous tensor. Depends on seed and name only.
void draw_uniform(std::uint64_t seed, std::string_view name, double bound, const View& to);

/// Standard normal numbers, likewise.
void draw_standard_normal(std::uint64_t seed, std::string_view name, const View& to);

/// to = factor * from, one row each, of one dtype.
void copy_scaled(const View& from, double factor, const View& to);

}  // namespace tunebench::engine
