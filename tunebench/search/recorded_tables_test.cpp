// Whether the models are worth their time, on real measurements; search_bench tells more.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/recorded_table.h"
#include "tunebench/stats/compare.h"
#include "tunebench/stats/summary.h"

namespace tunebench::search {
namespace {

using test_support::RecordedTable;

constexpr std::uint64_t kSeeds = 25;

/// Median number of measurements until within 1 % of the best.
double typical_effort(const RecordedTable& table, Method method, RecordedTable::Metric metric) {
  std::vector<double> counts;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    counts.push_back(table.points_until_best(method, metric, seed));
  }
  return stats::median(counts);
}

/// Expected median of a random order, from the table alone: after how many draws without
/// replacement the chance of none of the good ones falls to a half.
double random_effort(const RecordedTable& table, RecordedTable::Metric metric) {
  double good = 0;
  for (const auto& [point, values] : table.rows()) {
    good += values[metric] >= 0.99 * table.largest(metric) ? 1 : 0;
  }
  const auto count = static_cast<double>(table.rows().size());
  double none = 1;
  double draws = 0;
  for (; none > 0.5; ++draws) {
    none *= (count - good - draws) / (count - draws);
  }
  return draws;
}

TEST(RecordedTables, ModelsNeedLessThanHalfOfRandom) {
  std::vector<double> tpe;
  std::vector<double> process;
  for (const char* name : {"fms_liger", "llm_foundry", "fms_a100", "fms_moe", "fms_padding_free",
                           "fsdp_qlora", "fms_multipack", "fms_granite"}) {
    const RecordedTable table(std::string(TB_GOLDEN_FOLDER "/search/") + name + ".csv");
    for (const RecordedTable::Metric metric :
         {RecordedTable::TokensPerS, RecordedTable::TokensPerSPerGpu}) {
      const double random = random_effort(table, metric);
      tpe.push_back(typical_effort(table, Method::Tpe, metric) / random);
      process.push_back(typical_effort(table, Method::GaussianProcess, metric) / random);
    }
  }
  EXPECT_LE(stats::geometric_mean(tpe), 0.5);
  EXPECT_LE(stats::geometric_mean(process), 0.5);
}

}  // namespace
}  // namespace tunebench::search
