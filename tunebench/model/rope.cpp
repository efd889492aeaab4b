#include "tunebench/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tunebench::model {
namespace {

double plain_frequency(double theta, std::int64_t pair, std::int64_t width) {
  return std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
}

double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double original = static_cast<double>(scaling.original_max_positions);
  if (wavelength < original / scaling.high_freq_factor) {
    return frequency;
  }
  if (wavelength > original / scaling.low_freq_factor) {
    return frequency / scaling.factor;
  }
  const double kept = (original / wavelength - scaling.low_freq_factor) /
                      (scaling.high_freq_factor - scaling.low_freq_factor);
  return kept * frequency + (1.0 - kept) * frequency / scaling.factor;
}

/// The base that stretches the longest wave to `length` positions.
double dynamic_theta(const ModelSpec& spec, std::int64_t length) {
  const double trained = static_cast<double>(spec.max_positions);
  const double longest = std::max(static_cast<double>(length), trained);
  const double factor = spec.rope_scaling.factor;
  const double width = static_cast<double>(spec.rotated());
  return spec.rope_theta *
         std::pow(factor * longest / trained - (factor - 1.0), width / (width - 2.0));
}

/// Pairs before `begin` keep their frequency, those from `end` on are divided by the factor.
struct YarnRange {
  double begin = 0;
  double end = 0;
  [[nodiscard]] double stretched(std::int64_t pair) const {
    return std::clamp((static_cast<double>(pair) - begin) / (end - begin), 0.0, 1.0);
  }
};

YarnRange yarn_range(const ModelSpec& spec) {
  const RopeScaling& scaling = spec.rope_scaling;
  const double width = static_cast<double>(spec.rotated());
  // The pair that turns so many times within the trained range.
  const auto pair_of = [&](double turns) {
    const double waves =
        static_cast<double>(scaling.original_max_positions) / (turns * 2.0 * std::numbers::pi);
    return width * std::log(waves) / (2.0 * std::log(spec.rope_theta));
  };
  YarnRange range{pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)};
  if (scaling.truncate) {
    range = {std::floor(range.begin), std::ceil(range.end)};
  }
  range = {std::max(range.begin, 0.0), std::min(range.end, width - 1.0)};
  constexpr double kNotEmpty = 0.001;
  return range.begin == range.end ? YarnRange{range.begin, range.end + kNotEmpty} : range;
}

}  // namespace

std::vector<double> rope_frequencies(const ModelSpec& spec, std::int64_t length) {
  using Type = RopeScaling::Type;
  const RopeScaling& scaling = spec.rope_scaling;
  const double theta =
      scaling.type == Type::Dynamic ? dynamic_theta(spec, length) : spec.rope_theta;
  const YarnRange range = scaling.type == Type::Yarn ? yarn_range(spec) : YarnRange{};
  const std::vector<double>& factors =
      length > scaling.original_max_positions ? scaling.long_factors : scaling.short_factors;
  std::vector<double> frequencies;
  for (std::int64_t pair = 0; pair < spec.rotated() / 2; ++pair) {
    double frequency = plain_frequency(theta, pair, spec.rotated());
    if (scaling.type == Type::Linear) {
      frequency /= scaling.factor;
    } else if (scaling.type == Type::Llama3) {
      frequency = llama3_frequency(frequency, scaling);
    } else if (scaling.type == Type::Yarn) {
      const double stretched = range.stretched(pair);
      frequency *= stretched / scaling.factor + 1.0 - stretched;
    } else if (scaling.type == Type::LongRope) {
      frequency /= factors[static_cast<std::size_t>(pair)];
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

std::vector<double> local_rope_frequencies(const ModelSpec& spec) {
  std::vector<double> frequencies;
  for (std::int64_t pair = 0; pair < spec.rotated() / 2; ++pair) {
    frequencies.push_back(plain_frequency(spec.local_rope_theta, pair, spec.rotated()));
  }
  return frequencies;
}

std::int64_t rope_length_class(const ModelSpec& spec, std::int64_t length) {
  switch (spec.rope_scaling.type) {
    case RopeScaling::Type::Dynamic:
      return std::max(length, spec.max_positions);
    case RopeScaling::Type::LongRope:
      return length > spec.rope_scaling.original_max_positions ? 1 : 0;
    default:
      return 0;
  }
}

double yarn_amplitude(double factor) {
  return factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
}

double longrope_amplitude(double factor, std::int64_t original_max_positions) {
  return factor <= 1.0 ? 1.0
                       : std::sqrt(1.0 + std::log(factor) /
                                             std::log(static_cast<double>(original_max_positions)));
}

}  // namespace tunebench::model
