#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tunebench::report {

/// Where a run is.
struct LiveState {
  std::int64_t number = 0;  ///< 1-based: this measurement
  std::int64_t total = 0;
  std::string point = {};    ///< "length=1024 batch=4"
  std::int64_t round = 1;    ///< 1-based
  std::int64_t rounds = 1;   ///< shown when more than one
  std::int64_t attempt = 1;  ///< shown when more than one
  std::string phase = {};    ///< start, load, warm-up, timed, save
  std::int64_t steps = 0;
  std::int64_t steps_wanted = 0;  ///< 0: not known
  double tokens_per_s = 0;        ///< 0: not known
  double seconds_left = 0;        ///< of the whole run; 0: not known
};

/// "[####......] 3/12  length=1024 batch=4 r2  timed 14/20 steps  61.9k tok/s  2 min left", cut to
/// `width` columns.
std::string live_line(const LiveState& state, std::size_t width);

/// "3/12  length=1024 batch=4 r2": how a measurement is named in plain lines.
std::string measurement_title(const LiveState& state);

/// 61944 -> "61.9k"
std::string short_rate(double tokens_per_s);

}  // namespace tunebench::report
