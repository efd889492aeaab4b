// Several processes, one store; processes that are killed; locks held from outside.
#include <algorithm>
#include <array>
#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/sqlite_connection.h"
#include "tunebench/store/internal/store_testing.h"
#include "tunebench/store/internal/test_backend.h"
#include "tunebench/store/internal/unsaved.h"

namespace tunebench::store {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

/// One byte from one process to another, or many.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void send(const std::string& bytes) const {
    if (write(ends_[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw Error(ErrorCode::Io, "pipe");
    }
  }
  [[nodiscard]] std::string receive(std::size_t size) const {
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = read(ends_[0], bytes.data() + done, size - done);
      if (count <= 0) {
        throw Error(ErrorCode::Io, "pipe");
      }
      done += static_cast<std::size_t>(count);
    }
    return bytes;
  }
  /// What there is until every sender has ended.
  [[nodiscard]] std::string receive_all() {
    close(ends_[1]);
    ends_[1] = -1;
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t count = 1; count > 0;) {
      count = read(ends_[0], piece.data(), piece.size());
      all.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return all;
  }

 private:
  std::array<int, 2> ends_{};
};

class ProcessesTest : public BackendTest {};

/// What is special to a file.
class FileProcessesTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return (folder_.path() / "new/store.db").string(); }

 private:
  TemporaryFolder folder_;
};

// RDB-01
TEST_P(ProcessesTest, EightProcessesMakeOneStoreAndLoseNothing) {
  constexpr int kProcesses = 8;
  constexpr int kRecords = 10;
  const Pipe start;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_child([&] {
      static_cast<void>(start.receive(1));
      const std::unique_ptr<Store> store = open_store(other_location(), OpenMode::Create);
      const store::Run run = store->begin_run(new_run("x", kRecords));
      for (int n = 0; n < kRecords; ++n) {
        store->append(sample_record(run.name));
      }
      store->end_run(run.name, "finished");
    }));
  }
  start.send(std::string(kProcesses, 'x'));
  for (const pid_t child : children) {
    EXPECT_EQ(wait_for(child), 0);
  }
  const std::unique_ptr<Store> store = open_store(other_location(), OpenMode::ReadOnly);
  EXPECT_EQ(store->runs().size(), static_cast<std::size_t>(kProcesses));
  std::set<std::string> ids;
  for (const record::Record& record : store->all_records()) {
    ids.insert(record.id);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kProcesses * kRecords));
  EXPECT_THAT(check_store(other_location()), IsEmpty());
}

TEST_P(ProcessesTest, RecordsOutliveAKillAtAnyMoment) {
  constexpr std::size_t kIdSize = 26;
  std::set<std::string> reported;
  for (const int records_before_kill : {1, 2, 3, 7, 20}) {
    const Pipe ids;
    const pid_t child = start_child([&] {
      const std::unique_ptr<Store> store = open_store(location(), OpenMode::Create);
      const store::Run run = store->begin_run(new_run("x", 1000));
      while (true) {
        const record::Record record = sample_record(run.name);
        store->append(record);
        ids.send(record.id);
      }
    });
    for (int i = 0; i < records_before_kill; ++i) {
      reported.insert(ids.receive(kIdSize));
    }
    kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
  }
  const std::unique_ptr<Store> store = open_store(location(), OpenMode::Create);
  std::set<std::string> kept;
  for (const record::Record& record : store->all_records()) {
    kept.insert(record.id);
  }
  for (const std::string& id : reported) {
    EXPECT_TRUE(kept.contains(id)) << id;
  }
  EXPECT_THAT(check_store(location()), IsEmpty());
  EXPECT_EQ(store->mark_dead_runs().size(), 5U);
}

/// What each of several processes does with one plan: claims a key, looks whether it is known,
/// measures it. Ends when all keys are known.
void measure_all(Store& store, const std::string& run, int keys) {
  bool missing = true;
  while (missing) {
    missing = false;
    for (int key = 0; key < keys; ++key) {
      const std::string name = "key " + std::to_string(key);
      if (!store.reusable(name).empty()) {
        continue;
      }
      missing = true;
      if (!store.claim(run, name).claimed) {
        continue;
      }
      if (!store.reusable(name).empty()) {
        store.release(run, name);
        continue;
      }
      store.append(sample_record(run, name));
    }
  }
}

TEST_P(ProcessesTest, EightProcessesShareThePointsAlsoWhenTwoAreKilled) {
  constexpr int kProcesses = 8;
  constexpr int kKeys = 200;
  const Pipe start;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_child([&] {
      const std::unique_ptr<Store> store = open_store(location(), OpenMode::Create);
      const store::Run run = store->begin_run(new_run("x", kKeys));
      static_cast<void>(start.receive(1));
      const Heartbeat heartbeat(location(), run.name);
      measure_all(*store, run.name, kKeys);
      store->end_run(run.name, "finished");
    }));
  }
  while (store_->runs().size() < kProcesses) {
    usleep(1000);
  }
  start.send(std::string(kProcesses, 'x'));
  for (const std::size_t victim : {0U, 1U}) {
    // In the middle: some keys are known by now.
    const std::size_t before = store_->all_records().size();
    while (store_->all_records().size() < before + 20) {
      usleep(1000);
    }
    kill(children[victim], SIGKILL);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(wait_for(children[i]), i < 2 ? 128 + SIGKILL : 0);
  }
  std::multiset<std::string> keys;
  for (const record::Record& record : store_->all_records()) {
    keys.insert(record.key);
  }
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kKeys)) << "none twice";
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), static_cast<std::size_t>(kKeys))
      << "none lost";
  EXPECT_EQ(store_->mark_dead_runs().size(), 2U);
  EXPECT_EQ(number("SELECT count(*) FROM claim"), 0);
  EXPECT_THAT(check_store(location()), IsEmpty());
}

// RDB-01
TEST_F(FileProcessesTest, WaitsForALockHeldFromOutside) {
  const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
  const store::Run run = store->begin_run(new_run("x", 1));
  const Pipe locked;
  const pid_t child = start_child([&] {
    SqliteConnection database(file(), Access::Write, std::chrono::seconds(5));
    database.script("BEGIN EXCLUSIVE");
    locked.send("x");
    usleep(300'000);
    database.script("COMMIT");
  });
  static_cast<void>(locked.receive(1));
  store->append(sample_record(run.name));
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(store->all_records().size(), 1U);
}

TEST_F(FileProcessesTest, KeepsARecordBesideAStoreThatStaysLockedAndTakesItInLater) {
  const std::unique_ptr<Store> store =
      open_store_waiting(file(), OpenMode::Create, std::chrono::milliseconds(50));
  const store::Run run = store->begin_run(new_run("x", 1));
  const record::Record record = sample_record(run.name);
  std::string message;
  {
    SqliteConnection other(file(), Access::Write, std::chrono::seconds(5));
    other.script("BEGIN IMMEDIATE");
    try {
      store->append(record);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io);
      message = error.message();
    }
    other.script("ROLLBACK");
  }
  EXPECT_EQ(message, file() +
                         " stayed locked by another process for 50 ms; the result "
                         "was kept in " +
                         unsaved_file(file()).string());
  EXPECT_THAT(store->all_records(), IsEmpty());
  const std::unique_ptr<Store> again = open_store(file(), OpenMode::Create);
  ASSERT_EQ(again->records_of(run.name).size(), 1U);
  EXPECT_EQ(again->all_records()[0].id, record.id);
  EXPECT_FALSE(std::filesystem::exists(unsaved_file(file())));
}

TEST_F(FileProcessesTest, LeavesAnUnsavedFileThatItCannotReadAndWorksAllTheSame) {
  open_store(file(), OpenMode::Create);
  write_file_atomically(unsaved_file(file()), "not a record\n");
  const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
  EXPECT_NO_THROW(store->begin_run(new_run("x", 1)));
  EXPECT_TRUE(std::filesystem::exists(unsaved_file(file())));
}

TEST_F(FileProcessesTest, AFullDiskKeepsWhatWasThereAndNamesTheFile) {
  Pipe report;
  const pid_t child = start_child([&] {
    const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
    const store::Run run = store->begin_run(new_run("x", 100));
    // Files may not grow beyond this, which is what a full disk looks like to the process.
    signal(SIGXFSZ, SIG_IGN);  // NOLINT: ignoring needs no handler
    const rlimit limit{3'000'000, 3'000'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      throw Error(ErrorCode::Io, "setrlimit");
    }
    int kept = 0;
    try {
      for (; kept < 1000; ++kept) {
        record::Record record = sample_record(run.name);
        record.reason = std::string(20'000, 'r');
        store->append(record);
      }
    } catch (const Error& error) {
      report.send(std::string(1, static_cast<char>(kept)) + error.message());
    }
  });
  ASSERT_EQ(wait_for(child), 0);
  const auto kept = static_cast<std::size_t>(report.receive(1)[0]);
  EXPECT_GT(kept, 5U);
  EXPECT_THAT(report.receive_all(),
              AllOf(StartsWith("cannot read or write " + file() + ": "),
                    EndsWith("; the result was kept in " + unsaved_file(file()).string())));
  EXPECT_THAT(check_store(file()), IsEmpty());
  const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
  EXPECT_EQ(store->all_records().size(), kept + 1) << "and the one beside the store";
}

TB_ON_BOTH_BACKENDS(ProcessesTest);

}  // namespace
}  // namespace tunebench::store
