#pragma once

#include <cstddef>
#include <vector>

#include "tunebench/search/space.h"

namespace tunebench::search {

/// A dimension as models see it.
struct Axis {
  /// All values are numbers: `place` says how far apart they are. Else any two are equally far.
  bool ordered = false;
  /// Of each value, in [0, 1], when ordered. Logarithmic when the values are positive and span two
  /// decades, or when that spaces them more evenly (1, 2, 4, 8), else linear.
  std::vector<double> place;
  std::size_t levels = 1;

  /// Between two values: |difference of places|, or 1 for two different names.
  [[nodiscard]] double distance(std::size_t first, std::size_t second) const;
};

std::vector<Axis> axes_of(const FiniteSpace& space);

}  // namespace tunebench::search
