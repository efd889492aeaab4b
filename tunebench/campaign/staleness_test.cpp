#include "tunebench/campaign/staleness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/files.h"
#include "tunebench/campaign/plan.h"

namespace tunebench::campaign {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json conditions(const char* driver, const char* cuda = "12") {
  return Json::object({{"metric_schema", "2"},
                       {"trainer", "t"},
                       {"trainer_version", "1"},
                       {"hardware_class", "gpu:H200:140 GiB:1"},
                       {"driver", driver},
                       {"cuda", cuda}});
}

class StalenessTest : public testing::Test {
 protected:
  StalenessTest() {
    run = store->begin_run({.command = "tunebench run", .planned = 1}).name;
    plan.repeats.count = 2;
  }

  PlannedPoint point(const std::string& name, const char* driver) const {
    PlannedPoint planned;
    planned.point_key = "point " + name;
    planned.key = planned.point_key + " on " + driver;
    planned.conditions = conditions(driver);
    return planned;
  }

  void keep(const PlannedPoint& point, std::int64_t at) {
    record::Record record;
    record.id = record::new_record_id();
    record.run = run;
    record.key = point.key;
    record.point_key = point.point_key;
    record.conditions = point.conditions;
    record.experiment = "finetune_full_benchmark-v1.0.0";
    record.inputs = {{"trainer", "t"}, {"number_gpus", 1}};
    record.trainer = "t";
    record.trainer_version = "1";
    record.status = record::Outcome::Ok;
    record.started_at = iso_time(at);
    store->append(record);
  }

  std::size_t usable(const PlannedPoint& point) {
    std::vector<record::Record> records = store->reusable(point.key);
    stale.sort_out(point, plan, *store, kNow, records);
    return records.size();
  }

  static constexpr std::int64_t kNow = 1'800'000'000;
  static constexpr std::int64_t kDay = 86400;
  TemporaryFolder folder;
  std::unique_ptr<store::Store> store =
      store::open_store((folder.path() / "store.db").string(), store::OpenMode::Create);
  std::string run;
  Plan plan;
  StaleResults stale;
};

TEST_F(StalenessTest, TellsHowManyPointsHaveResultsOfOtherConditions) {
  keep(point("a", "550"), kNow - kDay);
  keep(point("b", "550"), kNow - kDay);
  keep(point("c", "570"), kNow - kDay);
  stale.of_points = 4;
  EXPECT_EQ(usable(point("a", "570")), 0U);
  EXPECT_EQ(usable(point("b", "570")), 0U);
  EXPECT_EQ(usable(point("c", "570")), 1U);
  EXPECT_EQ(usable(point("d", "570")), 0U);
  EXPECT_EQ(stale.text(plan),
            "2 of 4 points have older results that are not comparable: driver 550 -> 570. "
            "Measuring again (use --accept-stale to reuse).");
  usable(point("a", "570"));
  EXPECT_EQ(stale.points, 2) << "a point counts once, however often it is looked at";
}

TEST_F(StalenessTest, ReusesThemWhenAskedUpToWhatIsWanted) {
  plan.accept_stale = true;
  stale.of_points = 1;
  for (int i = 0; i < 3; ++i) {
    keep(point("a", "550"), kNow - kDay);
  }
  keep(point("a", "570"), kNow);
  EXPECT_EQ(usable(point("a", "570")), 2U) << "one of its own, one stale";
  EXPECT_THAT(stale.text(plan), HasSubstr("1 of 1 points reuses older results that are not "
                                          "comparable: driver 550 -> 570."));
}

TEST_F(StalenessTest, WhatIsTooOldIsNotReused) {
  plan.max_age_s = age_of("7d");
  plan.max_age_text = "7d";
  stale.of_points = 2;
  keep(point("a", "570"), kNow - 8 * kDay);
  keep(point("b", "570"), kNow - 6 * kDay);
  EXPECT_EQ(usable(point("a", "570")), 0U);
  EXPECT_EQ(usable(point("b", "570")), 1U);
  EXPECT_EQ(stale.text(plan), "1 of 2 points has results older than 7d only. Measuring again.");
}

TEST_F(StalenessTest, GroupsWhatThisMachineWouldNotReuse) {
  keep(point("a", "550"), kNow - 2 * kDay);
  keep(point("b", "550"), kNow - kDay);
  keep(point("b", "570"), kNow);  // measured again
  keep(point("c", "535"), kNow);
  const std::vector<StaleGroup> groups = find_stale(
      *store,
      [](const std::string&, const std::string&, std::int64_t) { return conditions("570"); });
  ASSERT_EQ(groups.size(), 2U);
  std::vector<std::string> differences{groups[0].difference, groups[1].difference};
  EXPECT_THAT(differences, testing::UnorderedElementsAre("driver 550 -> 570", "driver 535 -> 570"));
  for (const StaleGroup& group : groups) {
    EXPECT_EQ(group.points.size(), 1U);
    EXPECT_THAT(group.runs, ElementsAre(run));
  }
}

TEST(ConditionDifferencesTest, NamesWhatDiffersInItsOrder) {
  EXPECT_EQ(condition_differences(conditions("550", "12"), conditions("570", "13")),
            "driver 550 -> 570, cuda 12 -> 13");
  EXPECT_EQ(condition_differences(conditions("550"), conditions("550")), "");
  EXPECT_EQ(condition_differences(Json(), conditions("550")), "") << "nothing is known";
  EXPECT_EQ(condition_differences(Json::object({{"driver", "550"}}),
                                  Json::object({{"mig", "1g.18gb"}, {"driver", "550"}})),
            "mig none -> 1g.18gb");
}

TEST(AgeTest, ReadsDaysHoursMinutesAndSeconds) {
  EXPECT_EQ(age_of("7d"), 7 * 86400);
  EXPECT_EQ(age_of("12 h"), 43200);
  EXPECT_EQ(age_of("90min"), 5400);
  EXPECT_EQ(age_of("1.5s"), 1);
  for (const char* wrong : {"", "7", "d", "-1d", "0h", "1e9d", "soon"}) {
    EXPECT_EQ(age_of(wrong), std::nullopt) << wrong;
  }
}

TEST(ConditionsTest, OfGpusHoldTheDriverAndOthersDoNot) {
  Machine machine{.trainer = "t", .trainer_version = "1", .hardware_class = "cpu:x:2c"};
  machine.gpu_classes = {
      {.hardware_class = "gpu:H200:140 GiB:1", .driver = "570", .cuda = "13"},
      {.hardware_class = "gpu:H200:140 GiB:2:NV18", .driver = "570", .cuda = "13"}};
  experiment::Point point;
  point.inputs["number_gpus"] = 0;
  EXPECT_EQ(
      conditions_of(machine, point).dump(),
      R"({"metric_schema":"2","trainer":"t","trainer_version":"1","hardware_class":"cpu:x:2c"})");
  point.inputs["number_gpus"] = 2;
  EXPECT_EQ(conditions_of(machine, point).at("hardware_class"), Json("gpu:H200:140 GiB:2:NV18"));
  EXPECT_EQ(conditions_of(machine, point).at("driver"), Json("570"));
}

}  // namespace
}  // namespace tunebench::campaign
