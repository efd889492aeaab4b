#pragma once

#include <memory>

#include "tunebench/engine/methods/method.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::trainer {

/// The engine's method of a point, made of its experiment and inputs; nullptr: the whole model is
/// trained. Errors: InvalidInput naming an input that cannot be.
std::shared_ptr<const engine::Method> method_of(const experiment::Point& point);

}  // namespace tunebench::trainer
