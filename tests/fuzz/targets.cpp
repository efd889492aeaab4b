#include "targets.h"

#include <string>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/campaign/request.h"
#include "tunebench/config/yaml.h"
#include "tunebench/experiment/property.h"
#include "tunebench/expression/expression.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/space/space.h"

namespace tunebench::fuzz {
namespace {

const std::vector<config::OptionSpec>& options() {
  static const std::vector<config::OptionSpec> kOptions{
      {.name = "repeats", .value_name = "N"},
      {.name = "order", .value_name = "grid|random"},
      {.name = "fresh", .takes_value = false},
      {.name = "timeout", .value_name = "SECONDS"},
      {.name = "experiment", .value_name = "ID"}};
  return kOptions;
}

void walk_a_little(const space::Space& space) {
  space::count_kept(space, {.looks = 2'000, .sample = 200});
  space::Walk walk(space);
  walk.set_most_looks(2'000);
  for (int i = 0; i < 20 && walk.next(); ++i) {
    const experiment::Point point = space.point(walk.digits());
    Diagnostics problems;
    experiment::check_rules(point, problems);
  }
}

void try_document(const plans::PlanDocument& document) {
  campaign::Request request{.experiment = experiment::find_experiment("finetune_full_benchmark")};
  plans::apply(document, request);
  Diagnostics problems;
  campaign::check_gates(request, problems);
  if (const std::optional<space::Space> space = campaign::space_of(request, problems)) {
    walk_a_little(*space);
  }
}

}  // namespace

void try_plan(std::string_view text) {
  try {
    Diagnostics problems;
    const std::vector<config::YamlDocument> documents =
        config::parse_yaml(text, "fuzz.yaml", problems);
    const plans::PlanDocument document = plans::read_documents(documents, options(), problems);
    for (const Diagnostic& problem : problems) {
      TB_CHECK(!problem.text_block().empty());
    }
    if (!problems.empty()) {
      return;
    }
    try_document(document);
    // What is read can be written, and reads back as the same.
    const std::string written = plans::plan_text(document);
    const std::vector<config::YamlDocument> again =
        config::parse_yaml(written, "written.yaml", problems);
    if (!again.empty()) {
      TB_CHECK(plans::plan_text(plans::read_plan(again[0], options(), problems)) == written ||
               !problems.empty());
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
  }
}

void try_expression(std::string_view text) {
  static const std::vector<std::string> kNames{"batch_size", "model_name", "number_gpus", "a", "b"};
  std::vector<expression::Mistake> mistakes;
  const std::optional<expression::Expression> made =
      expression::Expression::compile(text, kNames, mistakes);
  TB_CHECK(made.has_value() == mistakes.empty());
  if (!made) {
    return;
  }
  const std::vector<Json> values{Json(4),      Json("tiny"), Json(),
                                 Json(0.5),    Json(true),   Json(std::string(300, '%')),
                                 Json(-9.2e18)};
  for (std::size_t shift = 0; shift < values.size(); ++shift) {
    std::vector<Json> used;
    for (std::size_t i = 0; i < made->used().size(); ++i) {
      used.push_back(values[(shift + i) % values.size()]);
    }
    try {
      static_cast<void>(made->holds(used));
      static_cast<void>(made->value(used));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Internal) {
        throw;
      }
    }
  }
}

}  // namespace tunebench::fuzz
