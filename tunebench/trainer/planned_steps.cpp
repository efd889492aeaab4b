#include <algorithm>
#include <cmath>

#include "tunebench/base/error.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

std::int64_t device_batch_size(const experiment::Point& point) {
  const std::int64_t batch = point.integer("batch_size");
  const std::int64_t devices = std::max<std::int64_t>(1, point.integer("number_gpus"));
  if (batch < 1) {
    throw Error(ErrorCode::InvalidInput,
                "batch_size is " + std::to_string(batch) + ", it must be at least 1");
  }
  if (batch % devices != 0) {
    throw Error(ErrorCode::InvalidInput, "batch_size is " + std::to_string(batch) +
                                             " but number_gpus is " + std::to_string(devices));
  }
  return batch / devices;
}

std::int64_t planned_steps(const experiment::Point& point, std::int64_t samples) {
  const std::int64_t max_steps = point.integer("max_steps");
  if (max_steps > 0) {
    return max_steps;
  }
  if (samples < 1) {
    throw Error(ErrorCode::InvalidInput, "the dataset is empty");
  }
  static_cast<void>(device_batch_size(point));
  const std::int64_t micro_batches = divide_up(samples, point.integer("batch_size"));
  const std::int64_t accumulation = point.integer("gradient_accumulation_steps");
  if (accumulation < 1) {
    throw Error(ErrorCode::InvalidInput, "gradient_accumulation_steps is " +
                                             std::to_string(accumulation) +
                                             ", it must be at least 1");
  }
  const std::int64_t per_epoch = divide_up(micro_batches, accumulation);
  const double epochs = point.real("num_train_epochs");
  return static_cast<std::int64_t>(std::ceil(epochs * static_cast<double>(per_epoch)));
}

}  // namespace tunebench::trainer
