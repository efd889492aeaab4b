#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tunebench/record/record.h"

namespace tunebench::analyze {

/// A valid measurement at `inputs` on a fixed machine. For tests.
inline record::Record rate_record(experiment::Inputs inputs, double tokens_per_s) {
  record::Record record;
  record.id = record::new_record_id();
  record.experiment = "finetune_full_benchmark-v1.0.0";
  record.inputs = std::move(inputs);
  record.inputs.emplace("number_gpus", 0);
  record.environment = Json::object({{"cpu_model", "EPYC"}, {"cores_usable", 2}});
  record.set("tokens_per_s", tokens_per_s);
  return record;
}

inline record::Record failed_record(experiment::Inputs inputs, record::Outcome status,
                                    std::string reason) {
  record::Record record = rate_record(std::move(inputs), 1);
  record.measured.clear();
  record.status = status;
  record.reason = std::move(reason);
  return record;
}

/// Several of one point.
inline std::vector<record::Record> rate_records(const experiment::Inputs& inputs,
                                                const std::vector<double>& rates) {
  std::vector<record::Record> records;
  for (const double rate : rates) {
    records.push_back(rate_record(inputs, rate));
  }
  return records;
}

inline std::vector<record::Record> operator+(std::vector<record::Record> a,
                                             const std::vector<record::Record>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace tunebench::analyze
