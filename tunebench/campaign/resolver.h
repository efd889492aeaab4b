#pragma once

#include <memory>

#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/request.h"
#include "tunebench/space/space.h"

namespace tunebench::campaign {

/// Makes planned points: opens what they name, each model, tokenizer and dataset once.
class Resolver {
 public:
  /// All of it outlives the resolver.
  Resolver(const Request& request, const space::Space& space, const Machine& machine,
           Diagnostics& problems);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// From now on points carry what their trainer plans to take (PlannedPoint::needed_bytes).
  void plan_memory();

  /// The point with all that depends on model and data; nullopt when something is wrong, which is
  /// told. With Request::keep_invalid a broken rule is PlannedPoint::invalid instead.
  std::optional<PlannedPoint> resolve(const space::Digits& digits);
  /// The same of a point with other inputs than the space gives it.
  std::optional<PlannedPoint> resolve(experiment::Point point);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "length=1024 batch=4": the inputs that vary.
std::string title_of(const space::Space& space, const experiment::Point& point);

}  // namespace tunebench::campaign
