// What is kept about runs and records beside the records: counts, names, values, the trash.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/check.h"
#include "tunebench/store/internal/sqlite_connection.h"
#include "tunebench/store/internal/test_backend.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KeepingTest : public BackendTest {
 protected:
  std::string ended_run(const std::string& command = "x") {
    const std::string run = store_->begin_run(new_run(command)).name;
    store_->end_run(run, "finished");
    return run;
  }
  std::vector<std::string> shown_problems() { return check_store(location()); }
};

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_P(KeepingTest, KeepsWhatARunWasBegunWith) {
  const std::string run =
      store_->begin_run({.command = "c", .planned = 3, .plan = R"({"seed": 7})", .simulated = true})
          .name;
  const store::Run found = store_->find_run(run);
  EXPECT_EQ(found.plan, R"({"seed": 7})");
  EXPECT_TRUE(found.simulated);
  EXPECT_EQ(found.stop_reason, "");
  EXPECT_EQ(found.trashed_at, "");
}

TEST_P(KeepingTest, CountsRecordsInTheRun) {
  const std::string first = store_->begin_run(new_run()).name;
  const record::Record good = sample_record(first);
  record::Record bad = sample_record(first);
  bad.status = record::Outcome::Crashed;
  store_->append(good);
  store_->append(bad);
  const std::string second = store_->begin_run(new_run()).name;
  store_->link_reused(second, std::vector<std::string>{good.id, bad.id});
  store_->link_reused(second, good.id);
  store_->append(sample_record(second));
  const store::Run one = store_->find_run(first);
  EXPECT_EQ(one.valid, 1);
  EXPECT_EQ(one.failed, 1);
  EXPECT_EQ(one.reused, 0);
  const store::Run two = store_->find_run(second);
  EXPECT_EQ(two.valid, 1);
  EXPECT_EQ(two.failed, 1);
  EXPECT_EQ(two.reused, 1);
  EXPECT_THAT(shown_problems(), IsEmpty());
}

TEST_P(KeepingTest, AppendsManyOrNone) {
  const std::string run = store_->begin_run(new_run()).name;
  std::vector<record::Record> records{sample_record(run), sample_record(run)};
  store_->append_all(records);
  EXPECT_EQ(store_->find_run(run).valid, 2);
  EXPECT_TRUE(store_->has_record(records[1].id));
  EXPECT_FALSE(store_->has_record("none"));
  records = {sample_record(run), records[0]};
  EXPECT_EQ(refusal([&] { store_->append_all(records); }),
            "there is a record " + records[1].id + " already");
  EXPECT_EQ(store_->find_run(run).valid, 2);
  EXPECT_EQ(store_->all_records().size(), 2U);
  EXPECT_THAT(shown_problems(), IsEmpty());
}

TEST_P(KeepingTest, KeepsOneEnvironmentForManyRecords) {
  const std::string run = store_->begin_run(new_run()).name;
  record::Record record = sample_record(run);
  record.environment = Json::object({{"cores", 8}, {"load", std::nan("")}});
  store_->append(record);
  record.id = record::new_record_id();
  store_->append(record);
  EXPECT_EQ(number("SELECT count(*) FROM environment"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM record WHERE body LIKE '%cores%'"), 0);
  for (const RunRecord& one : store_->records_of(run)) {
    EXPECT_EQ(one.record.environment.at("cores"), Json(8));
    EXPECT_TRUE(std::isnan(one.record.environment.at("load").as_double()));
  }
}

TEST_P(KeepingTest, TagsNameRuns) {
  const std::string run = ended_run();
  store_->tag(run, "nightly");
  store_->tag(run, "a");
  store_->tag(run, "nightly");
  EXPECT_EQ(store_->find_run("nightly").name, run);
  EXPECT_THAT(store_->find_run(run).tags, ElementsAre("a", "nightly"));
  EXPECT_THAT(store_->runs().at(0).tags, ElementsAre("a", "nightly"));
  const std::string other = ended_run();
  EXPECT_EQ(refusal([&] { store_->tag(other, "nightly"); }),
            "'nightly' is a tag of " + run + "; take it away there first");
  EXPECT_EQ(refusal([&] { store_->tag(other, run); }), "'" + run + "' is the name of a run");
  EXPECT_THAT(refusal([&] { (void)store_->find_run("nightli"); }),
              HasSubstr("did you mean 'nightly'?"));
  store_->untag("nightly");
  EXPECT_EQ(refusal([&] { store_->untag("nightly"); }), "no run has the tag 'nightly'");
  for (const char* odd : {"", "@x", "a b", "a/1", "a\n"}) {
    EXPECT_THAT(refusal([&] { store_->tag(run, odd); }), HasSubstr("cannot be a tag")) << odd;
  }
}

TEST_P(KeepingTest, BaselinesMoveAndAreNamed) {
  const std::string first = ended_run();
  const std::string second = ended_run();
  store_->set_baseline("release", first);
  store_->set_baseline("release", second);
  store_->set_baseline("before", first);
  EXPECT_EQ(store_->baseline("release").name, second);
  const std::vector<Baseline> all = store_->baselines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "before");
  EXPECT_EQ(all[1].run, second);
  EXPECT_EQ(refusal([&] { (void)store_->baseline("relase"); }),
            "there is no baseline 'relase' - did you mean 'release'?");
  EXPECT_EQ(refusal([&] { store_->set_baseline("x", "nobody"); }), "no run is named 'nobody'");
  store_->trash_run(second);
  EXPECT_THAT(refusal([&] { (void)store_->baseline("release"); }), HasSubstr("in the trash"));
  EXPECT_EQ(store_->baselines().size(), 1U);
}

TEST_P(KeepingTest, TheTrashHidesARunAndWhatOnlyItShows) {
  const std::string first = store_->begin_run(new_run()).name;
  const record::Record own = sample_record(first, "own");
  const record::Record shared = sample_record(first, "shared");
  store_->append(own);
  store_->append(shared);
  EXPECT_THAT(refusal([&] { store_->trash_run(first); }), HasSubstr("is running"));
  store_->end_run(first, "finished");
  const std::string second = ended_run();
  store_->link_reused(second, shared.id);
  EXPECT_EQ(store_->trash_run(first).name, first);
  EXPECT_EQ(store_->runs().size(), 1U);
  EXPECT_THAT(refusal([&] { (void)store_->find_run(first); }), HasSubstr("is in the trash"));
  EXPECT_THAT(refusal([&] { (void)store_->records_of(first); }), HasSubstr("no run is named"));
  EXPECT_THAT(store_->reusable("own"), IsEmpty());
  EXPECT_THAT(store_->attempts("own"), IsEmpty());
  EXPECT_EQ(store_->reusable("shared").size(), 1U);
  EXPECT_EQ(store_->all_records().size(), 1U);
  int scanned = 0;
  store_->scan({.columns = {"key"}, .run = {}, .condition = nullptr}, [&](auto) { ++scanned; });
  EXPECT_EQ(scanned, 1);
  EXPECT_EQ(store_->undo().name, first);
  EXPECT_EQ(store_->reusable("own").size(), 1U);
  EXPECT_EQ(refusal([&] { store_->undo(); }), "the trash is empty");
}

TEST_P(KeepingTest, UndoBringsBackTheLastOne) {
  const std::string first = ended_run();
  const std::string second = ended_run();
  store_->trash_run(second);
  store_->trash_run(first);
  EXPECT_EQ(store_->undo().name, first);
  EXPECT_EQ(store_->undo().name, second);
}

TEST_P(KeepingTest, GcRemovesOldTrashAndWhatNoOtherRunShows) {
  const std::string first = store_->begin_run(new_run()).name;
  record::Record own = sample_record(first, "own");
  own.environment = Json::object({{"only", "here"}});
  const record::Record shared = sample_record(first, "shared");
  store_->append(own);
  store_->append(shared);
  store_->end_run(first, "finished");
  const std::string second = ended_run();
  store_->link_reused(second, shared.id);
  store_->tag(first, "t");
  store_->trash_run(first);
  Removed removed = store_->gc(3600);
  EXPECT_EQ(removed.runs, 0) << "not old enough";
  removed = store_->gc(0);
  EXPECT_EQ(removed.runs, 1);
  EXPECT_EQ(removed.records, 1);
  EXPECT_EQ(store_->reusable("shared").size(), 1U);
  EXPECT_EQ(refusal([&] { store_->undo(); }), "the trash is empty");
  EXPECT_EQ(number("SELECT count(*) FROM environment"), 1) << "that of the shared record";
  EXPECT_EQ(number("SELECT count(*) FROM tag"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM run"), 2) << "the shared record bears its name";
  EXPECT_THAT(shown_problems(), IsEmpty());
  store_->trash_run(second);
  removed = store_->gc(0);
  EXPECT_EQ(removed.runs, 1);
  EXPECT_EQ(removed.records, 1);
  EXPECT_EQ(number("SELECT count(*) FROM run"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM value"), 0);
  EXPECT_THAT(shown_problems(), IsEmpty());
}

TEST_P(KeepingTest, FindsStaleResultsOfAPoint) {
  const std::string run = store_->begin_run(new_run()).name;
  std::vector<std::string> ids;
  for (const char* key : {"driver 550", "driver 560", "driver 570"}) {
    record::Record record = sample_record(run, key);
    record.point_key = "point";
    store_->append(record);
    ids.push_back(record.id);
  }
  store_->append(sample_record(run, "no point"));
  const std::vector<record::Record> stale = store_->stale("point", "driver 570");
  ASSERT_EQ(stale.size(), 2U);
  EXPECT_EQ(stale[0].id, ids[1]) << "newest first";
  EXPECT_EQ(stale[1].id, ids[0]);
  EXPECT_THAT(store_->stale("", "x"), IsEmpty());
}

TEST_P(KeepingTest, ScansValuesWithoutRecords) {
  const std::string run = store_->begin_run(new_run()).name;
  record::Record record = sample_record(run);
  record.inputs["enable_roce"] = true;
  record.set("steps", 7);
  record.set("loss_last", std::nan(""));
  record.set("loss_first", 0.1);
  store_->append(record);
  const std::string other = store_->begin_run(new_run()).name;
  store_->link_reused(other, record.id);
  store_->append(sample_record(other, "b"));
  const std::vector<std::string> columns{"batch_size", "tokens_per_s", "steps",      "is_valid",
                                         "loss_last",  "loss_first",   "model_name", "id",
                                         "repeat",     "key",          "run"};
  std::vector<std::vector<Json>> rows;
  store_->scan({.columns = columns, .run = {}, .condition = nullptr},
               [&](std::span<const Json> row) { rows.emplace_back(row.begin(), row.end()); });
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0], ElementsAre(Json(4), Json(100.5), Json(7), Json(true), Json(), Json(0.1),
                                   Json("tiny"), Json(record.id), Json(1), Json("key"), Json(run)));
  EXPECT_EQ(rows[1][9], Json("b"));
  int count = 0;
  store_->scan({.columns = {"key"}, .run = run, .condition = nullptr}, [&](auto) { ++count; });
  EXPECT_EQ(count, 1);
  EXPECT_EQ(refusal([&] {
              store_->scan({.columns = {"batch_sise"}, .run = {}, .condition = nullptr},
                           [](auto) {});
            }),
            "there is no column 'batch_sise' - did you mean 'batch_size'?");
}

/// The ids that a condition leaves.
std::vector<std::int64_t> batches(const Store& store, const std::string& condition,
                                  const std::optional<std::string>& run = {}) {
  Diagnostics problems;
  const auto compiled =
      expression::Expression::compile(condition, scan_columns(), "where", problems);
  EXPECT_TRUE(compiled.has_value()) << condition;
  std::vector<std::int64_t> found;
  store.scan({.columns = {"batch_size"}, .run = run, .condition = &*compiled},
             [&](std::span<const Json> row) { found.push_back(row[0].as_int()); });
  return found;
}

TEST_P(KeepingTest, ScansWhatAConditionHoldsFor) {
  const std::string run = store_->begin_run(new_run()).name;
  for (const int batch : {1, 2, 4, 8}) {
    record::Record record = sample_record(run, "key" + std::to_string(batch));
    record.inputs["batch_size"] = batch;
    record.status = batch == 8 ? record::Outcome::OomGpu : record::Outcome::Ok;
    record.set("tokens_per_s", 100.0 * batch);
    if (batch == 2) {
      record.set("loss_last", std::nan(""));
    } else {
      record.set("loss_last", 1.0);
    }
    store_->append(record);
  }
  EXPECT_THAT(batches(*store_, "tokens_per_s > 150 and is_valid"), ElementsAre(2, 4));
  EXPECT_THAT(batches(*store_, "status == 'oom_gpu'"), ElementsAre(8));
  EXPECT_THAT(batches(*store_, "batch_size == '4'"), IsEmpty()) << "text is no number";
  EXPECT_THAT(batches(*store_, "batch_size / 8 > 0.4"), ElementsAre(4, 8));
  EXPECT_THAT(batches(*store_, "loss_last == null"), ElementsAre(2));
  EXPECT_THAT(batches(*store_, "key == 'key4' or run == 'x'"), ElementsAre(4));
  EXPECT_THAT(batches(*store_, "model_name like 'T%' and upper(key) == 'KEY1'"), ElementsAre(1));
  EXPECT_THAT(batches(*store_, "is_valid", run), ElementsAre(1, 2, 4));
  EXPECT_THAT(refusal([&] { batches(*store_, "model_name"); }), HasSubstr("gives a text"));
  EXPECT_THAT(batches(*store_, "key == 'record; DROP TABLE record'"), IsEmpty());
}

TEST_P(KeepingTest, ScansReachNoOtherTableAndWriteNothing) {
  if (GetParam() != Backend::Sqlite) {
    GTEST_SKIP() << "conditions never reach a server";
  }
  SqliteConnection database(location(), Access::Write, std::chrono::seconds(1));
  for (const char* sql : {"SELECT name FROM sqlite_master", "DELETE FROM record",
                          "SELECT key FROM claim", "PRAGMA user_version = 9", "ATTACH 'x' AS y",
                          "SELECT load_extension('x') FROM run", "SELECT randomblob(9) FROM run"}) {
    EXPECT_THAT(refusal([&] { database.for_each(sql, {}, [](const Rows&) {}); }),
                testing::AnyOf(HasSubstr("not authorized"), HasSubstr("prohibited")))
        << sql;
  }
  EXPECT_NO_THROW(database.query("SELECT name FROM sqlite_master")) << "only in scans";
}

TEST_P(KeepingTest, EveryColumnOfARecordCanBeScanned) {
  const std::string run = store_->begin_run(new_run()).name;
  record::Record record = sample_record(run);
  for (const record::Field& field : record::fields()) {
    switch (field.type) {
      case record::FieldType::Integer:
        record.set(field.name, std::int64_t{9007199254740993});
        break;
      case record::FieldType::Real:
        record.set(field.name, 0.1);
        break;
      case record::FieldType::Text:
        record.set(field.name, "modèle");
        break;
      case record::FieldType::Boolean:
        record.set(field.name, true);
        break;
    }
  }
  for (const experiment::Property& property : experiment::properties()) {
    record.inputs[property.name] = property.default_value;
  }
  store_->append(record);
  std::vector<std::string> columns;
  std::vector<Json> wanted;
  const Json flat = record::flat(record);
  for (const auto& [name, value] : flat.as_object()) {
    columns.push_back(name);
    wanted.push_back(value);
  }
  store_->scan({.columns = columns, .run = {}, .condition = nullptr},
               [&](std::span<const Json> row) {
                 for (std::size_t i = 0; i < columns.size(); ++i) {
                   EXPECT_EQ(row[i], wanted[i]) << columns[i];
                 }
               });
  EXPECT_THAT(shown_problems(), IsEmpty());
}

TEST_P(KeepingTest, AddsColumnsThatTheStoreDoesNotHave) {
  const std::string run = store_->begin_run(new_run()).name;
  store_->append(sample_record(run));
  store_.reset();
  execute("ALTER TABLE value DROP COLUMN steps");
  int rows = 0;
  open_store(location(), OpenMode::ReadOnly)
      ->scan({.columns = {"steps"}, .run = {}, .condition = nullptr},
             [&](std::span<const Json> row) {
               EXPECT_TRUE(row[0].is_null());
               ++rows;
             });
  EXPECT_EQ(rows, 1);
  store_ = open_store(location(), OpenMode::Create);
  record::Record record = sample_record(run);
  record.set("steps", 3);
  store_->append(record);
  EXPECT_EQ(number("SELECT sum(steps) FROM value"), 3);
}

TEST_P(KeepingTest, ChecksNameWhatDoesNotFit) {
  const std::string run = store_->begin_run(new_run()).name;
  const record::Record record = sample_record(run);
  store_->append(record);
  const std::vector<std::pair<std::string, std::string>> damages{
      {"UPDATE run SET valid = 5", "run " + run + " counts 5 valid, 0 failed, 0 reused"},
      {"UPDATE run SET status = 'finished'; INSERT INTO claim VALUES ('k', '" + run + "', 1)",
       "key k is claimed by run " + run + ", which is finished"},
      {"DELETE FROM run_record", "record " + record.id + " is shown by no run"},
      {"DELETE FROM value", "record " + record.id + ": its values are missing"},
      {"UPDATE value SET batch_size = 5", "its value of batch_size is not that of the record"},
      {"UPDATE record SET key = 'y'", "its columns do not fit its text"},
      {"UPDATE environment SET content = '{'", "damaged environment"},
      {"UPDATE record SET body = '{}'", "damaged record"}};
  for (const auto& [sql, problem] : damages) {
    // Looked at within a transaction that is then undone.
    struct Undo {};
    const std::unique_ptr<Connection> store = connection();
    const auto damaged = [&] {
      store->script(sql);
      EXPECT_THAT(check_connection(*store), testing::Contains(HasSubstr(problem))) << sql;
      throw Undo();
    };
    EXPECT_THROW(store->transaction(damaged), Undo);
  }
  EXPECT_THAT(shown_problems(), IsEmpty());
}

TB_ON_BOTH_BACKENDS(KeepingTest);

}  // namespace
}  // namespace tunebench::store
