// Bundles that were damaged, or made to do harm.
#include <functional>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/exchange/bundle.h"
#include "tunebench/exchange/internal/archive.h"
#include "tunebench/exchange/internal/exchange_testing.h"

namespace tunebench::exchange {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Entry {
  std::string name;
  std::string bytes = "x";
  unsigned type = AE_IFREG;
  std::string link = {};
};

class HostileBundleTest : public testing::Test {
  TemporaryFolder folder_;

 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }
  std::unique_ptr<store::Store> store_ =
      store::open_store(path("s.db").string(), store::OpenMode::Create);

  void write_raw(const std::vector<Entry>& entries) const {
    archive* writer = archive_write_new();
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_pax_restricted(writer);
    ASSERT_EQ(archive_write_open_filename(writer, path("x.tar.gz").c_str()), ARCHIVE_OK);
    for (const Entry& one : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, one.name.c_str());
      archive_entry_set_filetype(entry, one.type);
      archive_entry_set_perm(entry, 0644);
      archive_entry_set_size(entry,
                             one.type == AE_IFREG ? static_cast<la_int64_t>(one.bytes.size()) : 0);
      if (one.type == AE_IFLNK) {
        archive_entry_set_symlink(entry, one.link.c_str());
      } else if (!one.link.empty()) {
        archive_entry_set_hardlink(entry, one.link.c_str());
      }
      archive_write_header(writer, entry);
      if (one.type == AE_IFREG) {
        archive_write_data(writer, one.bytes.data(), one.bytes.size());
      }
      archive_entry_free(entry);
    }
    archive_write_free(writer);
  }
  std::string refusal() {
    try {
      import_bundle(*store_, path("x.tar.gz"), path("logs"), true);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }
  /// The bundle of a good store with its content changed.
  void write_changed(const std::function<std::string(std::string)>& change) {
    std::filesystem::remove_all(path("source.db"));
    std::filesystem::remove_all(path("source.db-wal"));
    const auto source = store::open_store(path("source.db").string(), store::OpenMode::Create);
    const std::string run = source->begin_run({.command = "c", .planned = 2}).name;
    source->append(example_record(run));
    source->append(example_record(run));
    source->end_run(run, "finished");
    write_bundle(*source, {}, path("good.tar.gz"));
    std::vector<Entry> entries;
    read_archive(path("good.tar.gz"), [&](const std::string& name, std::string&& bytes) {
      entries.push_back({name, name.starts_with("content/") ? change(bytes) : bytes});
    });
    write_raw(entries);
  }
  [[nodiscard]] std::vector<std::string> files_outside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path().parent_path())) {
      if (entry.path().filename() == "tb-escaped") {
        names.push_back(entry.path());
      }
    }
    return names;
  }
};

const Entry kHead{"bundle.json", R"({"kind":"tunebench bundle","format":1})"};

TEST_F(HostileBundleTest, NoEntryLeavesItsFolder) {
  for (const std::string name :
       {"../tb-escaped", "/tb-escaped", "logs/../../tb-escaped", "logs//x", "./x", "a\\..\\b"}) {
    write_raw({kHead, {name}});
    EXPECT_THAT(refusal(), HasSubstr("would be written outside of its folder")) << name;
  }
  write_raw({kHead, {"logs/x", "", AE_IFLNK, "../tb-escaped"}});
  EXPECT_THAT(refusal(), HasSubstr("is a link"));
  write_raw({kHead, {"logs/x", "", AE_IFREG, "bundle.json"}});
  EXPECT_THAT(refusal(), HasSubstr("is a link"));
  write_raw({kHead, {"logs/x", "", AE_IFIFO}});
  EXPECT_THAT(refusal(), HasSubstr("no plain file"));
  write_raw({kHead, {"logs/", "", AE_IFDIR}});
  EXPECT_THAT(refusal(), HasSubstr("no plain file"));
  EXPECT_THAT(files_outside(), IsEmpty());
  EXPECT_FALSE(is_there(path("logs")));
  EXPECT_THAT(store_->runs(), IsEmpty());
}

TEST_F(HostileBundleTest, SizesAreBounded) {
  write_raw({kHead, {"content/000001.jsonl", std::string(5000, 'x')}, {"a"}, {"b"}});
  const auto read = [&](const ArchiveLimits& limits) {
    try {
      read_archive(
          path("x.tar.gz"), [](const std::string&, std::string&&) {}, limits);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_THAT(read({.entry_bytes = 4999}), HasSubstr("'content/000001.jsonl' is larger than"));
  EXPECT_THAT(read({.total_bytes = 5010}), HasSubstr("larger than"));
  EXPECT_THAT(read({.entries = 3}), HasSubstr("more than 3 entries"));
  EXPECT_EQ(read({}), "");
  // 200 MB of zeros pack to 200 KB.
  write_raw({kHead, {"content/000001.jsonl", std::string(std::size_t{200} << 20, '\0')}});
  EXPECT_THAT(refusal(), HasSubstr("larger than 64.0 MiB when unpacked"));
}

TEST_F(HostileBundleTest, ATruncatedOrForeignFileIsRefused) {
  write_changed([](std::string text) { return text; });
  const std::string whole = read_file(path("good.tar.gz"));
  for (std::size_t size = 2; size < whole.size(); size += 37) {
    write_file_atomically(path("x.tar.gz"), whole.substr(0, size));
    EXPECT_NE(refusal(), "") << size;
  }
  write_raw({{"other.json"}});
  EXPECT_THAT(refusal(), HasSubstr("does not begin with bundle.json"));
  write_raw({{"bundle.json", R"({"kind":"tunebench bundle","format":2})"}});
  EXPECT_THAT(refusal(), HasSubstr("newer tunebench"));
  write_raw({kHead});
  EXPECT_THAT(refusal(), HasSubstr("no whole bundle"));
  EXPECT_THAT(store_->runs(), IsEmpty());
}

TEST_F(HostileBundleTest, EveryWrongLineIsNamedAndTheOthersCanBeTaken) {
  write_changed([](std::string text) {
    const std::size_t record = text.find("\"kind\":\"record\"");
    text.replace(text.find("\"status\":\"ok\"", record), 13, "\"status\":\"no\"");
    return text + "{\"kind\":\"odd\"}\nnot json\n";
  });
  Imported all = import_bundle(*store_, path("x.tar.gz"), path("logs"), false);
  EXPECT_TRUE(all.refused);
  ASSERT_THAT(all.rejected, SizeIs(3));
  EXPECT_EQ(all.rejected[0].where, "x.tar.gz/content/000001.jsonl:4");
  EXPECT_THAT(all.rejected[0].reason, HasSubstr("unknown status 'no'"));
  EXPECT_THAT(all.rejected[1].reason, HasSubstr("unknown kind 'odd'"));
  EXPECT_THAT(store_->runs(), IsEmpty());
  EXPECT_EQ(import_bundle(*store_, path("x.tar.gz"), path("logs"), true).added, 1);
  EXPECT_THAT(store::check_store(path("s.db").string()), IsEmpty());
}

TEST_F(HostileBundleTest, WhatALineNamesMustBeThere) {
  const auto reason_after = [&](const std::string& from, const std::string& to) {
    write_changed([&](std::string text) {
      const std::size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      return text.replace(at, from.size(), to);
    });
    const Imported result = import_bundle(*store_, path("x.tar.gz"), path("logs"), false);
    EXPECT_TRUE(result.refused);
    return result.rejected.empty() ? "" : result.rejected[0].reason;
  };
  EXPECT_THAT(reason_after("\"environment\":1", "\"environment\":7"), HasSubstr("environment"));
  EXPECT_THAT(reason_after("\"id\":\"", "\"id\":\"../../"), HasSubstr("no id of a record"));
  EXPECT_THAT(reason_after("\"kind\":\"shows\",\"run\":\"", "\"kind\":\"shows\",\"run\":\"x"),
              HasSubstr("there is no run"));
  EXPECT_THAT(reason_after("\"kind\":\"run\",\"name\":\"", "\"kind\":\"run\",\"name\":\"a/"),
              HasSubstr("cannot be a name of a run"));
  EXPECT_THAT(reason_after("\"tokens_per_s\":100.5", "\"tokens_per_s\":\"fast\""),
              HasSubstr("'tokens_per_s' is a string"));
  EXPECT_THAT(reason_after("\"records\":2", "\"records\":3"), HasSubstr("says 1 runs and 3"));
  EXPECT_THAT(store_->runs(), IsEmpty());
}

TEST_F(HostileBundleTest, ALogWithoutARecordIsNotUnpacked) {
  write_changed([](std::string text) { return text; });
  std::vector<Entry> entries;
  read_archive(path("good.tar.gz"), [&](const std::string& name, std::string&& bytes) {
    entries.push_back({name, bytes});
  });
  entries.insert(entries.begin() + 1, {"logs/0123.log", "x"});
  entries.push_back({"readme.txt", "x"});
  write_raw(entries);
  const Imported result = import_bundle(*store_, path("x.tar.gz"), path("logs"), true);
  ASSERT_THAT(result.rejected, SizeIs(2));
  EXPECT_THAT(result.rejected[0].reason, HasSubstr("no such file"));
  EXPECT_THAT(result.rejected[1].reason, HasSubstr("belongs to no record"));
  EXPECT_EQ(result.added, 2);
  EXPECT_FALSE(is_there(path("logs/imported/0123.log")));
}

}  // namespace
}  // namespace tunebench::exchange
