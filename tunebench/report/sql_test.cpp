#include "tunebench/report/sql.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tunebench/record/record.h"
#include "tunebench/report/aggregate.h"
#include "tunebench/report/export.h"

namespace tunebench::report {
namespace {

/// Loads the text as `sqlite3` does and answers one query.
class LoadedSql {
 public:
  LoadedSql() { EXPECT_EQ(sqlite3_open(":memory:", &database_), SQLITE_OK); }
  ~LoadedSql() { sqlite3_close(database_); }
  LoadedSql(const LoadedSql&) = delete;
  LoadedSql& operator=(const LoadedSql&) = delete;

  void load(const std::string& text) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database_, text.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << (error == nullptr ? "" : error);
    sqlite3_free(error);
  }

  std::string ask(const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, query.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const void* bytes = sqlite3_column_blob(statement, 0);
    const std::string text =
        bytes == nullptr
            ? "NULL"
            : std::string(static_cast<const char*>(bytes),
                          static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
    sqlite3_finalize(statement);
    return text;
  }

 private:
  sqlite3* database_ = nullptr;
};

record::Record odd_record(const std::string& id) {
  record::Record record;
  record.id = id;
  record.run = "brisk-otter";
  record.inputs = {{"model_name", std::string("it's \"x\"\n\0z", 11)},
                   {"batch_size", 4},
                   {"learning_rate", 1e-5}};
  record.reason = "line\nbreak'); DROP TABLE measurements; --";
  record.set("tokens_per_s", 1234.5);
  record.set("loss_last", std::numeric_limits<double>::quiet_NaN());
  record.set("steps", std::int64_t{9007199254740993});
  return record;
}

TEST(Sql, LoadsWithTypesNullsAndAnyText) {
  const std::vector<record::Record> records{odd_record("1"), odd_record("2")};
  const std::string text = export_records(records, Format::Sql);
  LoadedSql sql;
  sql.load(text);
  sql.load(text);
  EXPECT_EQ(sql.ask("SELECT count(*) FROM measurements"), "2") << "loading again changes nothing";
  EXPECT_EQ(sql.ask("SELECT tokens_per_s FROM measurements"), "1234.5");
  EXPECT_EQ(sql.ask("SELECT steps FROM measurements"), "9007199254740993");
  EXPECT_EQ(sql.ask("SELECT loss_last FROM measurements"), "NULL");
  EXPECT_EQ(sql.ask("SELECT typeof(is_valid) || typeof(batch_size) || typeof(learning_rate) FROM "
                    "measurements"),
            "integerintegerreal");
  EXPECT_EQ(sql.ask("SELECT model_name FROM measurements"), std::string("it's \"x\"\n\0z", 11));
  EXPECT_EQ(sql.ask("SELECT reason FROM measurements"), records[0].reason);
}

TEST(Sql, AggregatedRowsAreATableOfPoints) {
  store::RunRecord one{.record = odd_record("1")};
  one.record.inputs["model_name"] = "tiny";
  LoadedSql sql;
  sql.load(export_rows(aggregate(std::vector{one}), aggregate_columns(), Format::Sql));
  EXPECT_EQ(sql.ask("SELECT tokens_per_s_n FROM points"), "1");
  EXPECT_EQ(sql.ask("SELECT type FROM pragma_table_info('points') WHERE name = "
                    "'tokens_per_s_ci_lo'"),
            "REAL");
}

TEST(Sql, WithoutRowsTheTableStands) {
  LoadedSql sql;
  sql.load(export_records({}, Format::Sql));
  EXPECT_EQ(sql.ask("SELECT count(*) FROM measurements"), "0");
}

}  // namespace
}  // namespace tunebench::report
