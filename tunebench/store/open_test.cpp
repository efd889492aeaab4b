#include "tunebench/store/internal/open.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/store/internal/schema.h"
#include "tunebench/store/internal/sqlite_connection.h"
#include "tunebench/store/internal/store_testing.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class OpenTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] std::string file() const { return (folder() / "store.db").string(); }

  void execute(const std::string& sql) const {
    SqliteConnection(file(), Access::Write, std::chrono::seconds(1)).script(sql);
  }

  /// What opening says, and with which code.
  static std::pair<ErrorCode, std::string> failure(const std::string& path,
                                                   OpenMode mode = OpenMode::Create) {
    try {
      open_store(path, mode);
    } catch (const Error& error) {
      return {error.code(), error.message()};
    }
    return {ErrorCode::Internal, "opened"};
  }

  /// Runs `body` in a child that the system refuses what it refuses ordinary users.
  void as_ordinary_user(const std::function<void()>& body) const {
    chmod(folder().c_str(), 0755);
    const pid_t child = start_child([&] {
      constexpr unsigned kNobody = 65534;
      if (getuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
        throw Error(ErrorCode::Io, "setuid");
      }
      body();
      if (testing::Test::HasFailure()) {
        throw Error(ErrorCode::Internal, "expectations failed");
      }
    });
    EXPECT_EQ(wait_for(child), 0);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(OpenTest, MakesMissingFolders) {
  open_store((folder() / "a/b/store.db").string(), OpenMode::Create);
  EXPECT_TRUE(std::filesystem::exists(folder() / "a/b/store.db"));
}

TEST_F(OpenTest, WorksUnderAnyName) {
  for (const char* name : {"mod el.db", "modèle-模型.db", "a?b=c#d%41.db", "-dash.db"}) {
    const std::string path = (folder() / name).string();
    open_store(path, OpenMode::Create)->begin_run(new_run("x", 1));
    EXPECT_EQ(open_store(path, OpenMode::ReadOnly)->runs().size(), 1U) << name;
    EXPECT_TRUE(std::filesystem::exists(path)) << name;
  }
}

TEST_F(OpenTest, ReadingNeedsAFile) {
  EXPECT_EQ(failure(file(), OpenMode::ReadOnly),
            std::pair(ErrorCode::NotFound, "there are no results yet in " + file()));
  EXPECT_FALSE(std::filesystem::exists(file()));
  std::ofstream(file()).close();
  EXPECT_EQ(failure(file(), OpenMode::ReadOnly).first, ErrorCode::NotFound);
}

TEST_F(OpenTest, RefusesANewerSchemaAndLeavesItAlone) {
  open_store(file(), OpenMode::Create);
  execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = 7");
  const std::string before = read_file(file());
  for (const OpenMode mode : {OpenMode::Create, OpenMode::ReadOnly}) {
    const auto [code, message] = failure(file(), mode);
    EXPECT_EQ(code, ErrorCode::Unsupported);
    EXPECT_THAT(message,
                HasSubstr(file() + " was written by a newer tunebench (schema 7, this program "
                                   "knows 2)"));
  }
  EXPECT_EQ(read_file(file()), before);
}

TEST_F(OpenTest, RefusesFilesThatAreNoStore) {
  write_file_atomically(file(), std::string(5000, 'x'));
  EXPECT_EQ(
      failure(file()),
      std::pair(ErrorCode::Corrupt, file() + " is not a store of tunebench: not an SQLite file"));
}

TEST_F(OpenTest, RefusesDatabasesOfOtherPrograms) {
  execute("CREATE TABLE song (name TEXT)");
  EXPECT_EQ(failure(file()),
            std::pair(ErrorCode::Corrupt, file() + " is not a store of tunebench: it is "
                                                   "a database of another program"));
}

TEST_F(OpenTest, RefusesAStoreThatWasCutOff) {
  {
    const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
    const store::Run run = store->begin_run(new_run("x", 1));
    for (int i = 0; i < 50; ++i) {
      store->append(sample_record(run.name));
    }
  }
  std::filesystem::resize_file(file(), 3 * 4096);
  std::string message;
  try {
    static_cast<void>(open_store(file(), OpenMode::ReadOnly)->all_records());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Corrupt);
    message = error.message();
  }
  EXPECT_THAT(message, HasSubstr(file() + " is damaged"));
}

TEST_F(OpenTest, RefusesAFolder) {
  EXPECT_EQ(
      failure(folder().string()),
      std::pair(ErrorCode::Io, folder().string() + " is a folder; give the name of a file in it"));
}

TEST_F(OpenTest, RefusesAPathThroughAFile) {
  write_file_atomically(folder() / "plain", "x");
  const auto [code, message] = failure((folder() / "plain/store.db").string());
  EXPECT_EQ(code, ErrorCode::Io);
  EXPECT_THAT(message, HasSubstr("plain/store.db"));
  EXPECT_THAT(message, HasSubstr("Not a directory"));
}

TEST_F(OpenTest, RefusesAFolderThatTakesNoFiles) {
  as_ordinary_user([this] {
    const std::filesystem::path locked = folder();
    chmod(locked.c_str(), 0555);
    EXPECT_EQ(failure(file()),
              std::pair(ErrorCode::Io, "cannot open " + file() + ": Permission denied"));
    EXPECT_EQ(failure((folder() / "sub/store.db").string()),
              std::pair(ErrorCode::Io, "cannot make the folder of " + folder().string() +
                                           "/sub/store.db: Permission denied"));
  });
}

TEST_F(OpenTest, RefusesToWriteAReadOnlyFileButReadsIt) {
  open_store(file(), OpenMode::Create)->begin_run(new_run("x", 1));
  chmod(file().c_str(), 0444);
  chmod(folder().c_str(), 0555);
  as_ordinary_user([this] {
    EXPECT_EQ(failure(file()), std::pair(ErrorCode::Io, "cannot write " + file() +
                                                            ": it or its folder is read-only"));
    EXPECT_EQ(open_store(file(), OpenMode::ReadOnly)->runs().size(), 1U);
    EXPECT_THAT(check_store(file()), IsEmpty());
  });
  chmod(folder().c_str(), 0755);
}

TEST_F(OpenTest, SaysWhenThereIsNoSpaceLeft) {
  SqliteConnection database(file(), Access::Write, std::chrono::seconds(1));
  make_tables(database);
  database.script("PRAGMA max_page_count = 60");
  std::string message;
  try {
    database.script("INSERT INTO environment SELECT NULL, 'a', hex(zeroblob(9000))");
    database.script("INSERT INTO environment SELECT NULL, 'b', hex(zeroblob(900000))");
  } catch (const Error& error) {
    message = error.message();
  }
  EXPECT_EQ(message, "cannot write " + file() + ": no space left; free some and try again");
}

TEST_F(OpenTest, LoadsTheStoredSampleOfSchemaOne) {
  const std::filesystem::path sample =
      std::filesystem::path(TB_GOLDEN_FOLDER) / "store/schema-1.db";
  std::filesystem::copy_file(sample, file());
  const std::unique_ptr<Store> store = open_store(file(), OpenMode::Create);
  const std::vector<store::Run> runs = store->runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].status, "running");
  EXPECT_EQ(runs[1].name, "brisk-otter");
  EXPECT_EQ(runs[1].command, "tunebench run --model tiny --length 64 --batch 1,2");
  EXPECT_EQ(runs[1].status, "finished");
  const std::vector<RunRecord> records = store->records_of("brisk-otter");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].record.status, record::Outcome::Ok);
  EXPECT_EQ(records[0].record.number("tokens_per_s"), 12345.678);
  EXPECT_EQ(records[0].record.inputs.at("batch_size"), Json(1));
  EXPECT_EQ(records[1].record.status, record::Outcome::Crashed);
  EXPECT_TRUE(std::isnan(records[1].record.number("loss_last").value()));
  EXPECT_EQ(store->reusable("key-1").size(), 1U);
  EXPECT_TRUE(store->records_of(runs[0].name).at(0).reused);
  EXPECT_THAT(check_store(file()), IsEmpty());
  EXPECT_EQ(store->mark_dead_runs().size(), 0U) << "made on another host";
}

TEST_F(OpenTest, MigratesWhenOpenedForWritingOnly) {
  std::filesystem::copy_file(std::filesystem::path(TB_GOLDEN_FOLDER) / "store/schema-1.db", file());
  const std::string before = read_file(file());
  {
    const std::unique_ptr<Store> store = open_store(file(), OpenMode::ReadOnly);
    EXPECT_EQ(store->records_of("brisk-otter").size(), 2U);
    EXPECT_EQ(store->find_run("brisk-otter").failed, 1);
    EXPECT_THAT(check_store(file()), IsEmpty());
  }
  EXPECT_EQ(read_file(file()), before) << "reading changes nothing";
  const auto store = open_store(file(), OpenMode::Create);
  const store::Run run = store->find_run("brisk-otter");
  EXPECT_EQ(run.valid, 1);
  EXPECT_EQ(run.failed, 1);
  EXPECT_EQ(store->find_run("calm-heron").reused, 1);
  EXPECT_EQ(run.plan, "");
  EXPECT_EQ(run.heartbeat, 0);
  SqliteConnection database(file(), Access::Read, std::chrono::seconds(1));
  EXPECT_EQ(database.query_integer("PRAGMA user_version"), 2);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM sqlite_master WHERE name LIKE 'old%'"), 0);
  double rate = 0;
  store->scan({.columns = {"tokens_per_s"}, .run = "calm-heron", .condition = nullptr},
              [&](std::span<const Json> row) { rate = row[0].as_double(); });
  EXPECT_EQ(rate, 12345.678);
}

TEST_F(OpenTest, MigratingKeepsADamagedRecordForTheCheck) {
  std::filesystem::copy_file(std::filesystem::path(TB_GOLDEN_FOLDER) / "store/schema-1.db", file());
  execute("UPDATE record SET body = '{}' WHERE number = 2");
  const auto store = open_store(file(), OpenMode::Create);
  EXPECT_EQ(store->runs().size(), 2U);
  EXPECT_EQ(store->reusable("key-1").size(), 1U);
  EXPECT_THAT(check_store(file()), testing::ElementsAre(HasSubstr("damaged record")));
}

TEST_F(OpenTest, AMigrationThatCannotEndLeavesTheFileAsItWas) {
  std::filesystem::copy_file(std::filesystem::path(TB_GOLDEN_FOLDER) / "store/schema-1.db", file());
  // A name that the migration needs is taken: it fails in the middle.
  execute("CREATE TABLE environment (x)");
  EXPECT_THAT(failure(file()).second, HasSubstr("environment"));
  SqliteConnection database(file(), Access::Read, std::chrono::seconds(1));
  EXPECT_EQ(database.query_integer("PRAGMA user_version"), 1);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM record"), 2);
}

TEST_F(OpenTest, ChecksFindReferencesToNothing) {
  const auto store = open_store(file(), OpenMode::Create);
  const record::Record record = sample_record(store->begin_run(new_run("x", 1)).name);
  store->append(record);
  execute("PRAGMA foreign_keys = OFF; DELETE FROM run; UPDATE record SET body = '{}'");
  const std::vector<std::string> problems = check_store(file());
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_THAT(problems[0], HasSubstr("refers to nothing in table run"));
  EXPECT_EQ(problems[2].substr(0, 34 + 7), "record " + record.id + ": damage");
}

class DefaultPathTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"TUNEBENCH_STORE", "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      saved_.emplace_back(name,
                          value == nullptr ? std::nullopt : std::optional<std::string>(value));
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

TEST_F(DefaultPathTest, TakesOptionThenVariableThenDataFolderThenHome) {
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(default_store_location(""), "/home/x/.local/share/tunebench/store.db");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_store_location(""), "/data/tunebench/store.db");
  setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_store_location(""), "/home/x/.local/share/tunebench/store.db");
  setenv("TUNEBENCH_STORE", "/s/a.db", 1);
  EXPECT_EQ(default_store_location(""), "/s/a.db");
  EXPECT_EQ(default_store_location("b.db"), "b.db");
}

TEST_F(DefaultPathTest, KnowsTheHomeFolderWithoutTheVariable) {
  EXPECT_THAT(default_store_location(""), EndsWith(".local/share/tunebench/store.db"));
}

}  // namespace
}  // namespace tunebench::store
