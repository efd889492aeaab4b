#include "tunebench/trainer/job.h"

#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"

namespace tunebench::trainer {

std::string job_text(const Job& job) {
  Json inputs = Json::object();
  for (const auto& [name, value] : job.point.inputs) {
    inputs.set(name, value);
  }
  return Json::object({{"experiment", job.point.experiment},
                       {"inputs", std::move(inputs)},
                       {"planned_steps", job.planned_steps},
                       {"memory_bytes", job.memory_bytes}})
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
    if (job.planned_steps < 0 || job.memory_bytes < 0) {
      throw Error(ErrorCode::InvalidInput, "planned_steps and memory_bytes must not be negative");
    }
    return job;
  });
}

}  // namespace tunebench::trainer
