#include "tunebench/campaign/request.h"

namespace tunebench::campaign {
std::optional<space::Space> space_of(const Request& request, Diagnostics& problems) {
  space::SpaceRequest made{
      .given = request.given, .experiments = request.experiments, .rules = request.rules};
  if (made.experiments.empty()) {
    made.experiments.push_back({request.experiment, {}});
  }
  return space::make_space(made, problems);
}

void check_rule_texts(const Request& request, Diagnostics& problems) {
  space::compile_rules(request.rules, problems);
}

void check_gates(const Request& request, Diagnostics& problems) {
  if (!request.compare && !request.fail_if.empty()) {
    problems.push_back({request.fail_if.front().where, "fail_if has nothing to compare with",
                        "compare: the name of a run or of a baseline"});
  }
}

}  // namespace tunebench::campaign
