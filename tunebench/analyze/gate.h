#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/analyze/compare.h"
#include "tunebench/base/diagnostic.h"

namespace tunebench::analyze {

/// "tokens_per_s < -3%": fails when the metric fell by more than 3 %.
struct Gate {
  Metric metric;
  bool below = true;                             ///< fails below the limit, else above it
  double limit = 0;                              ///< change as a share of A: -0.03
  std::string text;                              ///< as written
  [[nodiscard]] std::string short_text() const;  ///< "-3%"
};

/// Reads "METRIC < PERCENT%" or ">". `where` stands before the mistakes.
std::optional<Gate> parse_gate(std::string_view text, std::string_view where,
                               Diagnostics& problems);

enum class GateState { Passed, Uncertain, Failed };
std::string_view gate_state_name(GateState state);  ///< passed, uncertain, failed

struct GatedPoint {
  const ComparedPoint* point = nullptr;
  GateState state = GateState::Passed;
  std::string why;  ///< "-1.86 % [-2.25 %, -1.48 %]", "n=1", "failed: oom_gpu: ..."
};

struct GateResult {
  Gate gate;
  GateState state = GateState::Passed;  ///< the worst of the points
  std::vector<GatedPoint> points;       ///< of the comparison, in its order
};

/// A point fails when the whole 95 % interval of its change lies beyond the limit, passes when the
/// whole interval lies on the other side, and is uncertain between or with fewer than two values.
/// With several points, failing takes a p corrected for their number by Holm, so that a gate over
/// many points does not fail by chance; one that fails by its own interval only is uncertain.
/// A point whose measurements all failed in B fails every gate. `comparison` is of the gate's
/// metric and must outlive the result.
GateResult judge(const Gate& gate, const Comparison& comparison);

}  // namespace tunebench::analyze
