#include "tunebench/exchange/bundle.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/exchange/internal/archive.h"
#include "tunebench/exchange/internal/exchange_testing.h"

namespace tunebench::exchange {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class BundleTest : public testing::Test {
  TemporaryFolder folder_;

 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }
  std::unique_ptr<store::Store> open(const std::string& name) {
    return store::open_store(path(name).string(), store::OpenMode::Create);
  }
  std::unique_ptr<store::Store> store_ = open("a.db");

  /// Two records, the second failed and with a log; a second run that reuses the first record.
  void fill() {
    first_ = store_->begin_run({.command = "tunebench run", .planned = 2, .plan = "{}"}).name;
    record::Record ok = example_record(first_);
    record::Record failed = example_record(first_);
    failed.status = record::Outcome::Crashed;
    failed.reason = "signal 11";
    failed.log_path = path("child.log").string();
    write_file_atomically(failed.log_path, "last words, token=planted-secret\n");
    store_->append(ok);
    store_->append(failed);
    store_->end_run(first_, "finished");
    store_->tag(first_, "nightly");
    second_ = store_->begin_run({.command = "tunebench run", .planned = 2}).name;
    store_->link_reused(second_, ok.id);
    store_->append(example_record(second_, 200));
    store_->end_run(second_, "finished");
  }
  std::string first_;
  std::string second_;
};

TEST_F(BundleTest, CarriesEverythingOnce) {
  fill();
  for (const std::string ending : {".tar.gz", ".tar.zst"}) {
    const std::filesystem::path file = path("all" + ending);
    const BundleContent content = write_bundle(*store_, {}, file);
    EXPECT_EQ(content.runs, 2);
    EXPECT_EQ(content.records, 3);
    EXPECT_EQ(content.logs, 1);
    EXPECT_EQ(kind_of(file), FileKind::Bundle);
    const auto other = open("b" + ending + ".db");
    const Imported imported = import_bundle(*other, file, path("logs" + ending), false);
    EXPECT_EQ(imported.added, 3);
    EXPECT_THAT(imported.rejected, IsEmpty());
    EXPECT_THAT(imported.runs, ElementsAre(first_, second_));
    const store::Run run = other->find_run("nightly");
    EXPECT_EQ(run.status, "imported");
    EXPECT_EQ(run.planned, 2);
    EXPECT_EQ(run.valid, 1);
    EXPECT_EQ(run.failed, 1);
    const auto records = other->records_of(first_);
    ASSERT_THAT(records, SizeIs(2));
    const record::Record original = store_->records_of(first_)[0].record;
    EXPECT_EQ(record::to_text(records[0].record), record::to_text(original));
    const std::string log = read_file(records[1].record.log_path);
    EXPECT_THAT(log, HasSubstr("last words"));
    EXPECT_THAT(log, Not(HasSubstr("planted")));
    const auto reused = other->records_of(second_);
    ASSERT_THAT(reused, SizeIs(2));
    EXPECT_TRUE(reused[0].reused);
    EXPECT_FALSE(reused[1].reused);
    EXPECT_THAT(other->reusable("key"), SizeIs(2));
    EXPECT_THAT(store::check_store(path("b" + ending + ".db").string()), IsEmpty());
    const Imported again = import_bundle(*other, file, path("logs" + ending), false);
    EXPECT_EQ(again.added, 0);
    EXPECT_EQ(again.known, 3);
    EXPECT_THAT(other->runs(), SizeIs(2));
  }
}

TEST_F(BundleTest, EqualContentGivesEqualBytes) {
  fill();
  for (const std::string ending : {".tar.gz", ".tar.zst"}) {
    write_bundle(*store_, {}, path("x" + ending));
    write_bundle(*store_, {second_, first_}, path("y" + ending));
    EXPECT_EQ(read_file(path("x" + ending)), read_file(path("y" + ending)));
  }
}

TEST_F(BundleTest, OneRunBringsWhatItReuses) {
  fill();
  const BundleContent content = write_bundle(*store_, {second_}, path("one.tar.gz"));
  EXPECT_EQ(content.runs, 2);
  EXPECT_EQ(content.records, 2);
  const auto other = open("b.db");
  import_bundle(*other, path("one.tar.gz"), path("logs"), false);
  EXPECT_THAT(other->records_of(first_), SizeIs(1));
  EXPECT_THAT(other->records_of(second_), SizeIs(2));
}

TEST_F(BundleTest, ComesBackIntoItsOwnStoreAsNothingNew) {
  fill();
  write_bundle(*store_, {}, path("all.tar.gz"));
  const Imported imported = import_bundle(*store_, path("all.tar.gz"), path("logs"), false);
  EXPECT_EQ(imported.added, 0);
  EXPECT_EQ(store_->find_run(first_).status, "finished");
  EXPECT_FALSE(is_there(path("logs")));
  EXPECT_THAT(imported.notes, IsEmpty());
}

TEST_F(BundleTest, AnotherRunOfTheNameKeepsIt) {
  fill();
  write_bundle(*store_, {first_}, path("one.tar.gz"));
  const auto other = open("b.db");
  const std::string taken =
      other
          ->import_run({.name = first_, .command = "another", .started_at = "2020-01-01T00:00:00Z"})
          .name;
  other->tag(taken, "nightly");
  const Imported imported = import_bundle(*other, path("one.tar.gz"), path("logs"), false);
  EXPECT_THAT(imported.runs, ElementsAre(first_ + "-2"));
  EXPECT_THAT(other->records_of(first_ + "-2"), SizeIs(2));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("tag 'nightly'")));
}

TEST_F(BundleTest, AMissingLogIsCounted) {
  fill();
  std::filesystem::remove(path("child.log"));
  EXPECT_EQ(write_bundle(*store_, {}, path("all.tar.gz")).missing_logs, 1);
  const auto other = open("b.db");
  import_bundle(*other, path("all.tar.gz"), path("logs"), false);
  EXPECT_EQ(other->records_of(first_)[1].record.log_path, "");
}

TEST_F(BundleTest, GoesFromOneKindOfStoreToTheOther) {
  const char* url = std::getenv("TB_POSTGRES_URL");  // NOLINT(concurrency-mt-unsafe): one thread
  if (url == nullptr) {
    GTEST_SKIP() << "TB_POSTGRES_URL names no server";
  }
  fill();
  write_bundle(*store_, {}, path("there.tar.gz"));
  const auto server = store::open_store(url, store::OpenMode::Create);
  const Imported there = import_bundle(*server, path("there.tar.gz"), path("logs"), false);
  EXPECT_EQ(there.added, 3);
  EXPECT_EQ(import_bundle(*server, path("there.tar.gz"), path("logs"), false).added, 0);
  write_bundle(*server, there.runs, path("back.tar.gz"));
  const auto other = open("b.db");
  EXPECT_EQ(import_bundle(*other, path("back.tar.gz"), path("logs2"), false).added, 3);
  EXPECT_EQ(other->records_of(there.runs[0]).size(), 2U);
}

TEST_F(BundleTest, TheNameSaysTheKind) {
  EXPECT_THROW(write_bundle(*store_, {}, path("all.zip")), Error);
  EXPECT_FALSE(is_there(path("all.zip")));
  EXPECT_THROW(write_bundle(*store_, {"nobody"}, path("all.tar.gz")), Error);
  EXPECT_FALSE(is_there(path("all.tar.gz")));
}

}  // namespace
}  // namespace tunebench::exchange
