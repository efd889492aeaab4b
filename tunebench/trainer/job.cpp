#include "tunebench/trainer/job.h"

#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"

namespace tunebench::trainer {

namespace {

std::int64_t count_or_one(const Json& document, const char* name) {
  const Json* value = document.find(name);
  return value == nullptr ? 1 : value->as_int();
}

}  // namespace

std::string job_text(const Job& job) {
  Json inputs = Json::object();
  for (const auto& [name, value] : job.point.inputs) {
    inputs.set(name, value);
  }
  return Json::object({{"experiment", job.point.experiment},
                       {"inputs", std::move(inputs)},
                       {"planned_steps", job.planned_steps},
                       {"memory_bytes", job.memory_bytes},
                       {"repeat", job.repeat},
                       {"attempt", job.attempt},
                       {"force", job.force}})
      .dump();
}

Job parse_job(std::string_view text) {
  return with_context("reading the job", [&] {
    const Json document = Json::parse(text, "job");
    Job job;
    job.point.experiment = document.at("experiment").as_string();
    for (const Json::Member& input : document.at("inputs").as_object()) {
      job.point.inputs[input.first] = input.second;
    }
    job.planned_steps = document.at("planned_steps").as_int();
    job.memory_bytes = document.at("memory_bytes").as_int();
    job.repeat = count_or_one(document, "repeat");
    job.attempt = count_or_one(document, "attempt");
    const Json* force = document.find("force");
    job.force = force != nullptr && force->as_bool();
    if (job.planned_steps < 0 || job.memory_bytes < 0) {
      throw Error(ErrorCode::InvalidInput, "planned_steps and memory_bytes must not be negative");
    }
    return job;
  });
}

}  // namespace tunebench::trainer
