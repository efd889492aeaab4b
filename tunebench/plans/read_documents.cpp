#include <algorithm>

#include "tunebench/base/text.h"
#include "tunebench/plans/internal/ado_files.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {

PlanDocument read_documents(const std::vector<config::YamlDocument>& documents,
                            const std::vector<config::OptionSpec>& options, Diagnostics& problems) {
  std::vector<const config::YamlDocument*> plans;
  for (const config::YamlDocument& document : documents) {
    if (ado_kind(document.root) == AdoKind::None) {
      plans.push_back(&document);
    }
  }
  if (plans.empty()) {
    return documents.empty() ? PlanDocument{} : read_ado(documents, problems);
  }
  if (documents.size() > 1) {
    const config::YamlDocument& second = *(plans.size() > 1 ? plans[1] : plans[0]);
    problems.push_back(second.source->mistake(
        second.root.place, "a plan is given together with other documents",
        "give one plan, or files of ado: a space, an operation, an actuator configuration"));
    return {};
  }
  return read_plan(*plans[0], options, problems);
}

}  // namespace tunebench::plans
