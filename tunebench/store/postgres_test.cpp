// What is special to a server: its URL, and what happens when it is away.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/cut_proxy.h"
#include "tunebench/store/internal/location.h"
#include "tunebench/store/internal/test_backend.h"
#include "tunebench/store/internal/unsaved.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

std::pair<ErrorCode, std::string> failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.message()};
  }
  return {ErrorCode::Internal, ""};
}

TEST(LocationTest, TellsServersFromFiles) {
  EXPECT_TRUE(is_postgres("postgresql://host/db"));
  EXPECT_TRUE(is_postgres("postgres://host/db"));
  EXPECT_FALSE(is_postgres("postgresql.db"));
  EXPECT_FALSE(is_postgres("/data/postgresql://x"));
}

TEST(LocationTest, NeverShowsAPassword) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"postgresql://me:secret@host:5432/db", "postgresql://me@host:5432/db"},
      {"postgresql://me:se:c@ret@host/db", "postgresql://me@host/db"},
      {"postgresql://me@host/db", "postgresql://me@host/db"},
      {"postgresql://host:5432/db", "postgresql://host:5432/db"},
      {"postgresql://:secret@host", "postgresql://@host"},
      {"postgresql://host/db?password=secret&sslmode=require",
       "postgresql://host/db?sslmode=require"},
      {"postgresql://host/db?sslpassword=secret", "postgresql://host/db"},
      {"postgresql://host/db?p%61ssword=secret", "postgresql://host/db"},
      {"postgresql:///db?host=/tmp", "postgresql:///db?host=/tmp"},
      {"/a/b.db", "/a/b.db"}};
  for (const auto& [location, shown] : cases) {
    EXPECT_EQ(shown_location(location), shown);
  }
}

TEST(LocationTest, AddsParametersThatAreNotThere) {
  EXPECT_EQ(with_parameters("postgresql://h/d", {"a=1", "b=2"}), "postgresql://h/d?a=1&b=2");
  EXPECT_EQ(with_parameters("postgresql://h/d?b=3", {"a=1", "b=2"}), "postgresql://h/d?b=3&a=1");
  EXPECT_EQ(with_parameters("postgresql://h/d?", {"a=1"}), "postgresql://h/d?a=1");
}

TEST(LocationTest, FilesOfAServersStoreLieInTheDataFolder) {
  const TemporaryFolder folder;
  setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(folder_of_store("postgresql://h/d"), folder.path() / "tunebench");
  const std::filesystem::path unsaved = unsaved_file("postgresql://me:secret@h/d");
  EXPECT_EQ(unsaved.parent_path(), folder.path() / "tunebench");
  EXPECT_EQ(unsaved, unsaved_file("postgresql://me:other@h/d")) << "a new password, the same store";
  EXPECT_NE(unsaved, unsaved_file("postgresql://me@h/e"));
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(folder_of_store("/a/b.db"), "/a");
}

TEST(PostgresOpenTest, AServerThatIsNotThereIsToldAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const auto [code, message] = failure_of(
      [] { open_store("postgresql://me:topsecret@/db?host=/nowhere", OpenMode::Create); });
  EXPECT_EQ(code, ErrorCode::Io);
  EXPECT_THAT(message,
              AllOf(StartsWith("cannot open postgresql://me@/db?host=/nowhere: "),
                    HasSubstr("No such file"), Not(HasSubstr("topsecret")), Not(HasSubstr("\n"))));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(PostgresOpenTest, ABadUrlIsTold) {
  const auto [code, message] = failure_of(
      [] { open_store("postgresql://me:topsecret@host/db?colour=red", OpenMode::Create); });
  EXPECT_EQ(code, ErrorCode::Io);
  EXPECT_THAT(message, AllOf(HasSubstr("colour"), Not(HasSubstr("topsecret"))));
}

class PostgresTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    const std::string url = postgres_url();
    const std::size_t host = url.find("host=") + 5;
    proxy_ = std::make_unique<CutProxy>(folder(), url.substr(host, url.find('&', host) - host));
    far_ = location();
    far_.replace(host, url.size() - host, folder().string());
  }
  void TearDown() override {
    proxy_.reset();
    BackendTest::TearDown();
  }

  std::unique_ptr<CutProxy> proxy_;
  std::string far_;  ///< the location by way of the proxy
};

TEST_P(PostgresTest, AnAppendWaitsForAServerThatComesBack) {
  const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 30s);
  const std::string run = store->begin_run(new_run()).name;
  proxy_->set_away(true);
  std::thread later([this] {
    std::this_thread::sleep_for(700ms);
    proxy_->set_away(false);
  });
  store->append(sample_record(run));
  later.join();
  EXPECT_GE(proxy_->cuts(), 1);
  EXPECT_EQ(store->find_run(run).valid, 1);
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(PostgresTest, ARecordIsKeptWhenTheServerStaysAwayAndTakenInLater) {
  const record::Record record = [&] {
    const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 300ms);
    const record::Record made = sample_record(store->begin_run(new_run()).name);
    proxy_->set_away(true);
    const auto [code, message] = failure_of([&] { store->append(made); });
    EXPECT_EQ(code, ErrorCode::Io);
    EXPECT_THAT(message,
                AllOf(StartsWith("cannot reach postgresql://"),
                      EndsWith("; the result was kept in " + unsaved_file(far_).string())));
    return made;
  }();
  EXPECT_THAT(store_->all_records(), IsEmpty());
  proxy_->set_away(false);
  open_store(far_, OpenMode::Create);
  ASSERT_EQ(store_->all_records().size(), 1U);
  EXPECT_EQ(store_->all_records()[0].id, record.id);
  EXPECT_FALSE(std::filesystem::exists(unsaved_file(far_)));
}

TEST_P(PostgresTest, ACommitWhoseAnswerIsLostIsNotDoneTwice) {
  const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 30s);
  proxy_->lose_next_answer_to_commit();
  const std::string run = store->begin_run(new_run()).name;
  EXPECT_EQ(store_->runs().size(), 1U);
  EXPECT_EQ(store_->runs()[0].name, run);
  proxy_->lose_next_answer_to_commit();
  store->append(sample_record(run));
  EXPECT_EQ(store_->find_run(run).valid, 1);
  EXPECT_EQ(store_->all_records().size(), 1U);
  proxy_->lose_next_answer_to_commit();
  const std::vector<record::Record> many{sample_record(run), sample_record(run)};
  store->append_all(many);
  EXPECT_EQ(store_->find_run(run).valid, 3);
  proxy_->lose_next_answer_to_commit();
  EXPECT_TRUE(store->claim(run, "k").claimed);
  store->end_run(run, "finished");
  const std::string other = store->begin_run(new_run()).name;
  store->end_run(other, "finished");
  store->trash_run(run);
  proxy_->lose_next_answer_to_commit();
  EXPECT_EQ(store->trash_run(other).name, other);
  proxy_->lose_next_answer_to_commit();
  EXPECT_EQ(store->undo().name, other);
  EXPECT_EQ(store_->runs().size(), 1U) << "one undo brings back one run";
  EXPECT_GE(proxy_->cuts(), 6);  // a busy server may turn a client away besides
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(PostgresTest, ACommitThatIsLostIsDoneAgain) {
  const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 30s);
  const std::string run = store->begin_run(new_run()).name;
  proxy_->lose_next_commit();
  store->append(sample_record(run));
  EXPECT_GE(proxy_->cuts(), 1);
  EXPECT_EQ(store_->find_run(run).valid, 1);
}

TEST_P(PostgresTest, ReadingGoesOnInANewConnection) {
  const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 30s);
  const std::string run = store->begin_run(new_run()).name;
  connection()->script(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
      "AND application_name = 'tunebench' AND query LIKE '%COMMIT%'");
  proxy_->set_away(true);
  std::this_thread::sleep_for(50ms);
  proxy_->set_away(false);
  EXPECT_EQ(store->find_run(run).name, run);
}

TEST_P(PostgresTest, HeartbeatSurvivesAServerThatIsAwayForAWhile) {
  const std::string run = store_->begin_run(new_run()).name;
  proxy_->set_away(true);
  const Heartbeat heartbeat(far_, run, 20ms);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(heartbeat.beats(), 0);
  EXPECT_FALSE(heartbeat.lost());
  proxy_->set_away(false);
  for (int i = 0; i < 1000 && heartbeat.beats() == 0; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_GT(heartbeat.beats(), 0);
}

TEST_P(PostgresTest, AStoreThatStaysLockedIsTold) {
  const std::unique_ptr<Store> store = open_store_waiting(far_, OpenMode::Create, 50ms);
  const std::string run = store->begin_run(new_run()).name;
  connection()->transaction([&] {
    EXPECT_EQ(failure_of([&] { store->append(sample_record(run)); }).second,
              shown_location(far_) +
                  " stayed locked by another process for 50 ms; the result was kept in " +
                  unsaved_file(far_).string());
  });
  open_store(far_, OpenMode::Create);
  EXPECT_EQ(store_->all_records().size(), 1U);
}

TEST_P(PostgresTest, AFullDiskOfTheServerIsToldAndNothingIsTorn) {
  const std::unique_ptr<Store> store = open_store(far_, OpenMode::Create);
  const std::string run = store->begin_run(new_run()).name;
  // In the last statements of an append: the server says what it says when its disk is full.
  execute(
      "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN "
      "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql; "
      "CREATE TRIGGER full_disk BEFORE INSERT ON run_record EXECUTE FUNCTION full_disk()");
  const auto [code, message] = failure_of([&] { store->append(sample_record(run)); });
  EXPECT_EQ(code, ErrorCode::Io);
  EXPECT_THAT(message, AllOf(StartsWith("cannot write postgresql://"),
                             HasSubstr(": no space left on the server; free some and try again; "
                                       "the result was kept in ")));
  EXPECT_THAT(store_->all_records(), IsEmpty());
  EXPECT_THAT(check_store(location()), IsEmpty());
  execute("DROP TRIGGER full_disk ON run_record");
  open_store(far_, OpenMode::Create);
  EXPECT_EQ(store_->find_run(run).valid, 1);
}

TEST_P(PostgresTest, ARoleThatMayOnlyReadIsTold) {
  const std::string run = store_->begin_run(new_run()).name;
  const std::string url = far_ + "%20-cdefault_transaction_read_only%3Don";
  const std::unique_ptr<Store> store = open_store_waiting(url, OpenMode::ReadOnly, 50ms);
  EXPECT_EQ(store->runs().size(), 1U);
  const auto [code, message] = failure_of([&] { store->append(sample_record(run)); });
  EXPECT_EQ(code, ErrorCode::Io);
  EXPECT_THAT(message, StartsWith("cannot write postgresql://"));
  std::filesystem::remove(unsaved_file(url));
}

TEST_P(PostgresTest, RefusesWhatIsNoStoreOrNewer) {
  const std::string nobody = other_location();
  EXPECT_EQ(
      failure_of([&] { open_store(nobody, OpenMode::ReadOnly); }),
      std::pair(ErrorCode::NotFound, "there are no results yet in " + shown_location(nobody)));
  execute("UPDATE store SET schema = 7");
  EXPECT_THAT(failure_of([&] { open_store(location(), OpenMode::Create); }).second,
              HasSubstr("was written by a newer tunebench (schema 7, this program knows 2)"));
  // The fixture tidies up with a connection of its own.
  PostgresConnection(location(), 5s).script("DROP TABLE store; CREATE TABLE store (song TEXT)");
  EXPECT_THAT(failure_of([&] { open_store(location(), OpenMode::Create); }).second,
              HasSubstr("it is a database of another program"));
}

TEST_P(PostgresTest, KeepsTextThatTheServerCannotHold) {
  const std::string run = store_->begin_run(new_run("odd \xff byte")).name;
  EXPECT_EQ(store_->find_run(run).command, "odd \xEF\xBF\xBD byte");
  record::Record record = sample_record(run);
  record.inputs["model_name"] = std::string("a\0b", 3);
  store_->append(record);
  EXPECT_EQ(store_->all_records().at(0).inputs.at("model_name"), Json(std::string("a\0b", 3)))
      << "the body keeps it";
  EXPECT_THAT(check_store(location()), IsEmpty());
}

TEST_P(PostgresTest, LivesInASchemaOfItsOwn) {
  EXPECT_EQ(connection()->query_integer(
                "SELECT count(*) FROM information_schema.tables "
                "WHERE table_schema = 'public' AND table_name IN ('run', 'record', 'store')"),
            0);
}

INSTANTIATE_TEST_SUITE_P(Store, PostgresTest, testing::Values(Backend::Postgres), backend_name);

}  // namespace
}  // namespace tunebench::store
