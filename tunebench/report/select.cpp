#include "tunebench/report/select.h"

#include <algorithm>

#include "tunebench/stats/cost.h"

namespace tunebench::report {

bool is_simulated(const record::Record& record) {
  return record.trainer == "simulated";
}

std::size_t remove_simulated(std::vector<store::RunRecord>& records) {
  return std::erase_if(records,
                       [](const store::RunRecord& one) { return is_simulated(one.record); });
}

std::size_t remove_imported(std::vector<store::RunRecord>& records) {
  return std::erase_if(records, [](const store::RunRecord& one) {
    return record::source_of(one.record) == record::kImported;
  });
}

void set_cost(std::vector<store::RunRecord>& records, double price_per_hour) {
  for (store::RunRecord& one : records) {
    const std::optional<double> rate = one.record.number("tokens_per_s");
    if (!one.record.is_valid() || !rate || *rate <= 0) {
      continue;
    }
    const auto gpus = one.record.inputs.find("number_gpus");
    const std::int64_t devices = gpus != one.record.inputs.end() && gpus->second.is_int()
                                     ? std::max<std::int64_t>(1, gpus->second.as_int())
                                     : 1;
    one.record.set("cost_per_mtok", stats::cost_per_million_tokens(price_per_hour, devices, *rate));
  }
}

}  // namespace tunebench::report
