#include "tunebench/campaign/internal/attempt.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/measure/auto_stop.h"

namespace tunebench::campaign {
namespace {

/// A path or an id may hold a token or the password of a URL.
experiment::Inputs without_secrets(experiment::Inputs inputs) {
  for (auto& [name, value] : inputs) {
    if (value.is_string()) {
      value = Json(mask_secrets(value.as_string()));
    }
  }
  return inputs;
}

/// The roof was measured before the first child: a result is not kept waiting, as it could be lost.
void set_model_flops_utilization(record::Record& record, trainer::Trainer& trainer,
                                 const Tools& tools) {
  const std::optional<double> gflops = record.number("gflops");
  if (!gflops || tools.stop.level.load() > 0) {
    return;
  }
  const std::optional<double> roof = trainer.roof_gflops();
  if (!roof || *roof <= 0) {
    return;
  }
  record.set("roof_gflops", *roof);
  if (*gflops > *roof) {
    log_warning_once("a run was faster than the measured roof of matrix products: mfu is left out");
    return;
  }
  record.set("mfu", *gflops / *roof);
}

/// A point that breaks a rule between its inputs has its record without a child.
record::Record invalid_record(const PlannedPoint& planned, const Tools& tools) {
  record::Record record;
  const trainer::Trainer& trainer = tools.trainer.of(planned.point);
  record.trainer = trainer.name();
  record.trainer_version = trainer.version();
  record.status = record::Outcome::InvalidConfig;
  record.reason = planned.invalid;
  record.started_at = iso_time(tools.clock.unix_seconds());
  return record;
}

/// What measure does not know.
void complete(record::Record& record, const Plan& plan, const Position& position) {
  const PlannedPoint& planned = *position.point;
  record.key = planned.key;
  record.point_key = planned.point_key;
  record.conditions = planned.conditions;
  record.experiment = planned.point.experiment.empty() ? plan.experiment : planned.point.experiment;
  record.inputs = without_secrets(planned.point.inputs);
  record.repeat = position.round;
  record.attempt = position.attempt;
  record.environment = plan.machine.of(planned.point).environment;
  for (const auto& [field, value] : planned.facts) {
    if (record.get(field).is_null()) {
      record.set(field, value);
    }
  }
}

void drop_empty_log(record::Record& record, const std::filesystem::path& log_file) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(log_file, missing);
  if (!missing && bytes == 0) {
    std::filesystem::remove(log_file, missing);
    record.log_path.clear();
  }
}

measure::Request request_for(const Plan& plan, const Tools& tools, const Position& position,
                             const std::string& id) {
  const PlannedPoint& planned = *position.point;
  measure::Request request{.point = planned.point,
                           .log_file = tools.log_folder / (id + ".log"),
                           .planned_steps = planned.planned_steps,
                           .memory_bytes = planned.memory_bytes,
                           .repeat = position.round,
                           .attempt = position.attempt,
                           .force = plan.force,
                           .protocol = measure::protocol_for(planned.point)};
  request.protocol.timeout_s = planned.timeout_s;
  request.idle = tools.idle;
  return request;
}

}  // namespace

record::Record make_attempt(const Plan& plan, const Tools& tools, const std::string& run,
                            const Position& position,
                            const std::function<void(const measure::Progress&)>& progress) {
  const std::string id = record::new_record_id();
  record::Record record;
  trainer::Trainer& trainer = tools.trainer.of(position.point->point);
  if (!position.point->invalid.empty()) {
    record = invalid_record(*position.point, tools);
  } else {
    std::error_code ignored;
    std::filesystem::create_directories(tools.log_folder, ignored);
    const measure::Request request = request_for(plan, tools, position, id);
    trainer.prepare();
    static_cast<void>(trainer.roof_gflops());
    record = measure::measure_point(request, trainer, tools.clock, tools.stop, progress);
    drop_empty_log(record, request.log_file);
  }
  record.id = id;
  record.run = run;
  complete(record, plan, position);
  set_model_flops_utilization(record, trainer, tools);
  return record;
}

}  // namespace tunebench::campaign
