#include "tunebench/report/select.h"

#include <gtest/gtest.h>

namespace tunebench::report {
namespace {

store::RunRecord made_by(const char* trainer, double rate, int gpus) {
  store::RunRecord one;
  one.record.trainer = trainer;
  one.record.inputs["number_gpus"] = gpus;
  one.record.set("tokens_per_s", rate);
  return one;
}

TEST(Simulated, IsTakenOutAndCounted) {
  std::vector<store::RunRecord> records{made_by("native", 1, 0), made_by("simulated", 2, 0),
                                        made_by("simulated", 3, 0)};
  EXPECT_EQ(remove_simulated(records), 2U);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(is_simulated(records[0].record));
}

TEST(Imported, IsTakenOutAndCounted) {
  std::vector<store::RunRecord> records{made_by("native", 1, 0), made_by("imported", 2, 0)};
  EXPECT_EQ(remove_imported(records), 1U);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(record::source_of(records[0].record), "measured");
}

TEST(Cost, IsPerGpuOrPerMachine) {
  std::vector<store::RunRecord> records{made_by("native", 11'300, 2), made_by("native", 100, 0),
                                        made_by("native", 100, 0)};
  records[2].record.status = record::Outcome::Crashed;
  set_cost(records, 2.5);
  EXPECT_NEAR(*records[0].record.number("cost_per_mtok"), 0.12291, 5e-6);
  EXPECT_NEAR(*records[1].record.number("cost_per_mtok"), 6.9444, 5e-5);
  EXPECT_FALSE(records[2].record.number("cost_per_mtok"));
}

}  // namespace
}  // namespace tunebench::report
