#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tunebench::analyze {

/// One value of one objective, and how far its true mean may be from it.
struct Figure {
  double value = 0;
  double half_width = 0;  ///< of the 95 % interval; 0 when there is one measurement only
};

/// What to have much or little of.
struct Objective {
  std::string name;
  bool maximise = true;
};

struct ParetoPoint {
  bool on_front = true;
  bool near = false;  ///< dominated by the figures, but not by more than the joint interval
  std::optional<std::size_t> dominated_by;  ///< index; of a near point, what it is near to
  bool knee = false;  ///< of three or more points on the front, the nearest to the ideal point
};

/// Which points no other beats. q dominates p when it is at least as good on every objective and
/// better on one by more than sqrt(hp^2 + hq^2), the joint half width of both 95 % intervals; when
/// it is better, but by less on every objective, p stays and is `near`.
/// Each of `points` has one figure per objective. The knee: objectives scaled to 0..1 over the
/// front, the least distance from the corner of the best values.
std::vector<ParetoPoint> pareto(std::span<const std::vector<Figure>> points,
                                std::span<const Objective> objectives);

}  // namespace tunebench::analyze
