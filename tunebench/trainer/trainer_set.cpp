#include "tunebench/trainer/trainer_set.h"

#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::trainer {

TrainerSet::TrainerSet(std::vector<std::unique_ptr<Trainer>> trainers)
    : trainers_(std::move(trainers)) {
  if (trainers_.empty()) {
    throw Error(ErrorCode::Internal, "a set of trainers needs one");
  }
}

std::string TrainerSet::name() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Trainer>& one : trainers_) {
    names.push_back(one->name());
  }
  return join(names, ", ");
}

std::string TrainerSet::version() const {
  return trainers_.front()->version();
}

std::unique_ptr<Running> TrainerSet::start(const Job& job) {
  return find(job.point).start(job);
}

std::optional<double> TrainerSet::roof_gflops() {
  return trainers_.front()->roof_gflops();
}

Expected TrainerSet::expected(const experiment::Point& point) const {
  return find(point).expected(point);
}

std::vector<std::pair<std::string, std::string>> TrainerSet::packages() const {
  return trainers_.front()->packages();
}

Trainer& TrainerSet::find(const experiment::Point& point) const {
  const auto wanted = point.inputs.find("trainer");
  for (const std::unique_ptr<Trainer>& one : trainers_) {
    if (wanted != point.inputs.end() && wanted->second == Json(one->name())) {
      return *one;
    }
  }
  return *trainers_.front();
}

}  // namespace tunebench::trainer
