#pragma once

#include <cmath>
#include <numbers>

#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine::ref {

/// An activation and its slope at one place.
struct Activated {
  double value;
  double slope;
};

inline Activated activated(Activation activation, double x) {
  switch (activation) {
    case Activation::Silu: {
      const double gate = 1.0 / (1.0 + std::exp(-x));
      return {x * gate, gate * (1.0 + x * (1.0 - gate))};
    }
    case Activation::GeluTanh: {
      const double slope = std::sqrt(2.0 / std::numbers::pi);
      const double bent = std::tanh(slope * (x + 0.044715 * x * x * x));
      const double inner = slope * (1.0 + 3.0 * 0.044715 * x * x);
      return {0.5 * x * (1.0 + bent), 0.5 * (1.0 + bent) + 0.5 * x * (1.0 - bent * bent) * inner};
    }
    case Activation::Gelu: {
      const double share = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
      return {x * share, share + x * density};
    }
  }
  return {0.0, 0.0};
}

}  // namespace tunebench::engine::ref
