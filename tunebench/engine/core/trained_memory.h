#pragma once

#include "tunebench/engine/core/view.h"

namespace tunebench::engine {

/// What the optimizer works on at once: flat memory of equal size, with or without weight decay.
struct TrainedMemory {
  View values;
  View gradients;
  View first_moments;
  View second_moments;
  bool decays = false;
};

}  // namespace tunebench::engine
