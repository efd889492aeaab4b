#include "tunebench/campaign/request.h"

#include <fmt/core.h>

namespace tunebench::campaign {
namespace {

void refuse(Diagnostics& problems, const std::string& where, const std::string& what,
            const std::string& hint = "") {
  problems.push_back({where, what + " is not done by this version", hint});
}

}  // namespace

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

void check_supported(const Request& request, Diagnostics& problems) {
  if (request.compare) {
    refuse(problems, request.compare->where, "compare in a plan");
  }
  for (const GateRequest& gate : request.fail_if) {
    refuse(problems, gate.where, "fail_if in a plan");
  }
}

}  // namespace tunebench::campaign
