// Runs and records of elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/test_backend.h"

namespace tunebench::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class StoreImportTest : public BackendTest {
 protected:
  static store::Run foreign(const std::string& name = "calm-heron",
                            const std::string& begin = "2026-01-01T00:00:00Z") {
    return {.name = name,
            .command = "tunebench run",
            .started_at = begin,
            .ended_at = "2026-01-01T01:00:00Z",
            .status = "running",
            .planned = 2,
            .pid = 1,
            .host = "elsewhere",
            .process_start = "boot:1",
            .plan = R"({"a": 1})",
            .stop_reason = "{}"};
  }
  std::vector<RunRecord> records_for(const std::string& run, int count) {
    std::vector<RunRecord> records;
    for (int i = 0; i < count; ++i) {
      records.push_back({.record = sample_record(run)});
    }
    return records;
  }
};

TB_ON_BOTH_BACKENDS(StoreImportTest);

TEST_P(StoreImportTest, KeepsARunAsItWasAndCallsItImported) {
  const store::Run kept = store_->import_run(foreign());
  EXPECT_EQ(kept.name, "calm-heron");
  EXPECT_EQ(kept.status, "imported");
  EXPECT_EQ(kept.host, "elsewhere");
  EXPECT_EQ(kept.ended_at, "2026-01-01T01:00:00Z");
  EXPECT_EQ(kept.plan, R"({"a": 1})");
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty());
  EXPECT_THROW(store_->resume_run("calm-heron"), Error);
}

TEST_P(StoreImportTest, TakesRecordsOnce) {
  const std::string run = store_->import_run(foreign()).name;
  const std::vector<RunRecord> records = records_for(run, 3);
  EXPECT_EQ(store_->import_records(run, records), 3);
  EXPECT_EQ(store_->import_run(foreign()).name, run);
  EXPECT_EQ(store_->import_records(run, records), 0);
  EXPECT_THAT(store_->records_of(run), SizeIs(3));
  EXPECT_EQ(store_->find_run(run).valid, 3);
  EXPECT_TRUE(store_->shows_record(records[0].record.id));
  EXPECT_FALSE(store_->shows_record("0"));
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(StoreImportTest, ARecordOfAnotherRunIsShownAsReused) {
  const std::string first = store_->import_run(foreign()).name;
  const std::string second = store_->import_run(foreign("keen-gull")).name;
  const std::vector<RunRecord> records = records_for(first, 1);
  EXPECT_EQ(store_->import_records(second, records), 1);
  EXPECT_EQ(store_->find_run(second).reused, 1);
  EXPECT_EQ(store_->find_run(first).valid, 1);
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(StoreImportTest, AnotherRunOfThatNameGetsANumberAndKeepsIt) {
  const std::string own = store_->import_run(foreign()).name;
  const store::Run other = foreign("calm-heron", "2026-02-02T00:00:00Z");
  EXPECT_EQ(store_->import_run(other).name, "calm-heron-2");
  EXPECT_EQ(store_->import_run(other).name, "calm-heron-2");
  EXPECT_EQ(store_->import_run(foreign()).name, own);
  EXPECT_THAT(store_->runs(), SizeIs(2));
}

TEST_P(StoreImportTest, OurOwnRunStaysOurs) {
  const store::Run own = store_->begin_run(new_run());
  store_->end_run(own.name, "finished");
  EXPECT_EQ(store_->import_run(store_->find_run(own.name)).status, "finished");
}

TEST_P(StoreImportTest, BringsBackWhatIsInTheTrashOrGone) {
  const std::string run = store_->import_run(foreign()).name;
  const std::vector<RunRecord> records = records_for(run, 2);
  store_->import_records(run, records);
  store_->trash_run(run);
  EXPECT_FALSE(store_->shows_record(records[0].record.id));
  EXPECT_THAT(store_->trashed_runs(), SizeIs(1));
  EXPECT_EQ(store_->gc_preview(0).records, 2);
  EXPECT_EQ(store_->gc_preview(3600).runs, 0);
  store_->import_run(foreign());
  EXPECT_THAT(store_->runs(), SizeIs(1));
  store_->trash_run(run);
  EXPECT_EQ(store_->gc(0).records, 2);
  store_->import_run(foreign());
  EXPECT_EQ(store_->import_records(run, records), 2);
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(StoreImportTest, AWrongNameOrAnUnknownRunIsRefused) {
  EXPECT_THROW(store_->import_run(foreign("../up")), Error);
  EXPECT_THROW(store_->import_run(foreign("@last")), Error);
  EXPECT_THROW(store_->import_records("nobody", {}), Error);
}

TEST_P(StoreImportTest, ABaselineIsTakenAwayOnce) {
  const std::string run = store_->import_run(foreign()).name;
  store_->set_baseline("main", run);
  try {
    store_->remove_baseline("mian");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "there is no baseline 'mian' - did you mean 'main'?");
  }
  store_->remove_baseline("main");
  EXPECT_THAT(store_->baselines(), IsEmpty());
}

}  // namespace
}  // namespace tunebench::store
