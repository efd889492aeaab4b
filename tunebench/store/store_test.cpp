#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/test_backend.h"

namespace tunebench::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StoreTest : public BackendTest {};

std::vector<std::string> ids(const std::vector<record::Record>& records) {
  std::vector<std::string> found;
  for (const record::Record& record : records) {
    found.push_back(record.id);
  }
  return found;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_P(StoreTest, BeginsRunsThatAreRunning) {
  const store::Run run = store_->begin_run(new_run("tunebench run --batch 4", 12));
  const store::Run found = store_->find_run(run.name);
  EXPECT_EQ(found.command, "tunebench run --batch 4");
  EXPECT_EQ(found.planned, 12);
  EXPECT_EQ(found.status, "running");
  EXPECT_EQ(found.ended_at, "");
  EXPECT_EQ(found.pid, getpid());
  EXPECT_FALSE(found.host.empty());
  EXPECT_FALSE(found.process_start.empty());
  EXPECT_EQ(found.started_at.size(), 20U);
}

TEST_P(StoreTest, EndsRuns) {
  const store::Run run = store_->begin_run(new_run("x", 1));
  store_->end_run(run.name, "finished");
  const store::Run found = store_->find_run(run.name);
  EXPECT_EQ(found.status, "finished");
  EXPECT_EQ(found.ended_at.size(), 20U);
  EXPECT_EQ(message_of([&] { store_->end_run("nobody", "finished"); }), "no run is named 'nobody'");
}

TEST_P(StoreTest, ListsRunsNewestFirst) {
  const store::Run first = store_->begin_run(new_run("a", 1));
  const store::Run second = store_->begin_run(new_run("b", 1));
  const std::vector<store::Run> runs = store_->runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].name, second.name);
  EXPECT_EQ(runs[1].name, first.name);
  EXPECT_EQ(store_->find_run("@last").name, second.name);
  EXPECT_EQ(store_->find_run("@last~1").name, first.name);
}

TEST_P(StoreTest, GivesRecordsBackAfterOpeningAgain) {
  const store::Run run = store_->begin_run(new_run("x", 1));
  record::Record record = sample_record(run.name);
  record.reason = "broken \xff byte, \"quotes\", modèle-模型-🦙\n";
  record.set("loss_last", std::nan(""));
  store_->append(record);
  store_ = open_store(location(), OpenMode::ReadOnly);
  const std::vector<RunRecord> records = store_->records_of(run.name);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].reused);
  EXPECT_EQ(records[0].record.id, record.id);
  EXPECT_EQ(records[0].record.reason,
            "broken \xEF\xBF\xBD byte, \"quotes\", modèle-模型-🦙\n");
  EXPECT_TRUE(std::isnan(records[0].record.number("loss_last").value()));
  EXPECT_THAT(ids(store_->all_records()), ElementsAre(record.id));
}

TEST_P(StoreTest, ReusesOnlyValidRecordsOfTheKeyOldestFirst) {
  const store::Run run = store_->begin_run(new_run("x", 9));
  std::vector<std::string> good;
  for (const record::Outcome status :
       {record::Outcome::Ok, record::Outcome::Crashed, record::Outcome::InvalidConfig,
        record::Outcome::Interrupted, record::Outcome::OomHost, record::Outcome::Ok}) {
    record::Record record = sample_record(run.name, "wanted");
    record.status = status;
    store_->append(record);
    if (status == record::Outcome::Ok || status == record::Outcome::InvalidConfig) {
      good.push_back(record.id);
    }
  }
  store_->append(sample_record(run.name, "other"));
  EXPECT_EQ(ids(store_->reusable("wanted")), good);
  EXPECT_EQ(store_->attempts("wanted").size(), 5U) << "all but the interrupted one";
  EXPECT_THAT(store_->reusable("unknown"), IsEmpty());
}

TEST_P(StoreTest, LinksReusedRecordsToTheRunThatShowsThem) {
  const store::Run first = store_->begin_run(new_run("a", 1));
  const record::Record record = sample_record(first.name);
  store_->append(record);
  const store::Run second = store_->begin_run(new_run("b", 2));
  store_->link_reused(second.name, record.id);
  store_->link_reused(second.name, record.id);
  const record::Record fresh = sample_record(second.name);
  store_->append(fresh);
  const std::vector<RunRecord> shown = store_->records_of(second.name);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].record.id, record.id);
  EXPECT_EQ(shown[0].record.run, first.name);
  EXPECT_TRUE(shown[0].reused);
  EXPECT_EQ(shown[1].record.id, fresh.id);
  EXPECT_FALSE(shown[1].reused);
  EXPECT_EQ(store_->records_of(first.name).size(), 1U);
}

TEST_P(StoreTest, LinksAllOrNone) {
  const store::Run first = store_->begin_run(new_run("a", 2));
  std::vector<std::string> known;
  for (int i = 0; i < 2; ++i) {
    const record::Record record = sample_record(first.name);
    store_->append(record);
    known.push_back(record.id);
  }
  const store::Run second = store_->begin_run(new_run("b", 2));
  store_->link_reused(second.name, known);
  EXPECT_EQ(store_->records_of(second.name).size(), 2U);
  const store::Run third = store_->begin_run(new_run("c", 2));
  known.emplace_back("none");
  EXPECT_EQ(message_of([&] { store_->link_reused(third.name, known); }), "there is no record none");
  EXPECT_THAT(store_->records_of(third.name), IsEmpty());
}

TEST_P(StoreTest, RefusesWhatRefersToNothing) {
  EXPECT_EQ(message_of([&] { store_->append(sample_record("nobody")); }),
            "no run is named 'nobody'");
  EXPECT_EQ(message_of([&] { (void)store_->records_of("nobody"); }), "no run is named 'nobody'");
  EXPECT_EQ(message_of([&] { (void)store_->find_run("x"); }), "there are no runs yet");
  const store::Run run = store_->begin_run(new_run("x", 1));
  EXPECT_EQ(message_of([&] { store_->link_reused(run.name, "none"); }), "there is no record none");
}

TEST_P(StoreTest, RefusesAnIdTwice) {
  const store::Run run = store_->begin_run(new_run("x", 1));
  const record::Record record = sample_record(run.name);
  store_->append(record);
  EXPECT_THROW(store_->append(record), Error);
  EXPECT_EQ(store_->all_records().size(), 1U);
}

// RDB-03
TEST_P(StoreTest, MarksRunsWhoseProcessIsGone) {
  const pid_t child = start_child([this] {
    const std::unique_ptr<Store> store = open_store(location(), OpenMode::Create);
    store->append(sample_record(store->begin_run(new_run("killed", 3)).name));
  });
  ASSERT_EQ(wait_for(child), 0);
  const store::Run mine = store_->begin_run(new_run("mine", 1));
  const std::vector<store::Run> dead = store_->mark_dead_runs();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].command, "killed");
  EXPECT_EQ(dead[0].status, "interrupted");
  EXPECT_EQ(dead[0].ended_at.size(), 20U);
  EXPECT_EQ(store_->find_run(dead[0].name).status, "interrupted");
  EXPECT_EQ(store_->find_run(mine.name).status, "running");
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty()) << "once only";
}

TEST_P(StoreTest, APidUsedAgainIsNotTakenForTheOldProcess) {
  const store::Run run = store_->begin_run(new_run("x", 1));
  execute("UPDATE run SET process_start = replace(process_start, ':', ':1')");
  ASSERT_EQ(store_->mark_dead_runs().size(), 1U);
  EXPECT_EQ(store_->find_run(run.name).status, "interrupted");
}

TEST_P(StoreTest, RunsOfOtherHostsAreLeftAlone) {
  const store::Run run = store_->begin_run(new_run("x", 1));
  execute("UPDATE run SET host = 'elsewhere', pid = 999999999");
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty());
  EXPECT_EQ(store_->find_run(run.name).status, "running");
}

TEST_P(StoreTest, SaysWhereItIs) {
  EXPECT_EQ(store_->location(), location());
}

TEST_P(StoreTest, ChecksFindNothingInAGoodStore) {
  store_->append(sample_record(store_->begin_run(new_run("x", 1)).name));
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TB_ON_BOTH_BACKENDS(StoreTest);

}  // namespace
}  // namespace tunebench::store
