#include "tunebench/store/internal/record_table.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/store/internal/run_table.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

/// Environments kept in memory; one of a run is some KB, and a season has few.
constexpr std::size_t kMostEnvironments = 64;

constexpr std::string_view kAddCounts =
    "UPDATE run SET valid = valid + ?, failed = failed + ?, reused = reused + ? WHERE name = ?";

}  // namespace

bool RecordTable::has(const std::string& id) const {
  return connection_.has("SELECT 1 FROM record WHERE id = ?", {id});
}

std::int64_t RecordTable::environment_number(const Json& environment) {
  const std::string content = record::environment_text(environment);
  const std::string hash = sha256_hex(content);
  const auto known = numbers_.find(hash);
  // It may be gone again: a transaction that was undone, gc.
  if (known != numbers_.end() &&
      connection_.has("SELECT 1 FROM environment WHERE number = ? AND hash = ?",
                      {known->second, hash})) {
    return known->second;
  }
  connection_.execute(
      "INSERT INTO environment (hash, content) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
      {hash, content});
  const std::int64_t number =
      connection_.query_integer("SELECT number FROM environment WHERE hash = ?", {hash});
  if (numbers_.size() >= kMostEnvironments) {
    numbers_.clear();
  }
  numbers_[hash] = number;
  return number;
}

std::int64_t RecordTable::insert_row(const record::Record& record,
                                     std::optional<std::int64_t> number) {
  Values values{record.id,
                record.run,
                record.key,
                record.point_key,
                std::string(record::outcome_name(record.status)),
                environment_number(record.environment),
                record::to_text_without_environment(record)};
  std::string_view columns = "id, run, key, point_key, status, environment, body";
  std::string_view places = "?, ?, ?, ?, ?, ?, ?";
  if (number) {
    columns = "id, run, key, point_key, status, environment, body, number";
    places = "?, ?, ?, ?, ?, ?, ?, ?";
    values.emplace_back(*number);
  }
  const std::unique_ptr<Rows> made = connection_.query(
      fmt::format("INSERT INTO record ({}) VALUES ({}) RETURNING number", columns, places), values);
  TB_CHECK(made->step());
  const std::int64_t made_number = made->integer(0);
  TB_CHECK(!made->step());
  return made_number;
}

void RecordTable::count(const std::string& run, bool is_valid, bool reused, std::int64_t times) {
  connection_.execute(kAddCounts, {is_valid && !reused ? times : 0, is_valid ? 0 : times,
                                   is_valid && reused ? times : 0, run});
}

void RecordTable::insert(const record::Record& record) {
  const std::int64_t number = insert_row(record);
  insert_values(connection_, number, record);
  connection_.execute("INSERT INTO run_record (run, record, reused, kept_at) VALUES (?, ?, 0, ?)",
                      {record.run, number, now_text()});
  count(record.run, record.is_valid(), false, 1);
  connection_.execute("DELETE FROM claim WHERE key = ? AND run = ?", {record.key, record.run});
}

void RecordTable::link_reused(const std::string& run, std::span<const std::string> ids) {
  const std::string now = now_text();
  std::int64_t valid = 0;
  std::int64_t failed = 0;
  for (const std::string& id : ids) {
    const std::unique_ptr<Rows> found =
        connection_.query("SELECT number, status FROM record WHERE id = ?", {id});
    if (!found->step()) {
      throw Error(ErrorCode::NotFound, fmt::format("there is no record {}", id));
    }
    const std::int64_t added = connection_.execute(
        "INSERT INTO run_record (run, record, reused, kept_at) VALUES (?, ?, 1, ?) "
        "ON CONFLICT (record, run) DO NOTHING",
        {run, found->integer(0), now});
    (found->text(1) == record::outcome_name(record::Outcome::Ok) ? valid : failed) += added;
  }
  if (valid > 0) {
    count(run, true, true, valid);
  }
  if (failed > 0) {
    count(run, false, true, failed);
  }
}

record::Record RecordTable::read(const std::string& body, std::int64_t environment) const {
  return with_context(connection_.location(), [&] {
    record::Record record = record::from_text(body);
    auto known = environments_.find(environment);
    if (known == environments_.end()) {
      if (environments_.size() >= kMostEnvironments) {
        environments_.clear();
      }
      const std::string content =
          connection_.query_text("SELECT content FROM environment WHERE number = ?", {environment});
      known = environments_.emplace(environment, record::environment_from_text(content)).first;
    }
    record.environment = known->second;
    return record;
  });
}

std::string RecordTable::hidden(std::string_view column) const {
  // Most stores have no trash, and then there is nothing to look up for each record.
  return connection_.has("SELECT 1 FROM run WHERE trashed <> 0")
             ? fmt::format("AND {} NOT IN ({})", column, kHiddenRecords)
             : "";
}

std::vector<record::Record> RecordTable::select(std::string_view condition, const Values& values,
                                                Order order) const {
  const std::unique_ptr<Rows> rows = connection_.query(
      fmt::format("SELECT body, environment FROM record WHERE {} {} ORDER BY number{}", condition,
                  hidden("number"), order == Order::NewestFirst ? " DESC" : ""),
      values);
  std::vector<record::Record> records;
  while (rows->step()) {
    records.push_back(read(rows->text(0), rows->integer(1)));
  }
  return records;
}

void RecordTable::for_each(const std::optional<std::string>& run,
                           const std::function<void(const RunRecord&)>& take) const {
  std::string sql;
  Values values;
  if (run) {
    sql =
        "SELECT record.body, record.environment, run_record.reused FROM run_record "
        "JOIN record ON record.number = run_record.record "
        "WHERE run_record.run = ? ORDER BY run_record.number";
    values.emplace_back(*run);
  } else {
    sql = fmt::format("SELECT body, environment, 0 FROM record WHERE 1 = 1 {} ORDER BY number",
                      hidden("number"));
  }
  connection_.for_each(sql, values, [&](const Rows& row) {
    take({.record = read(row.text(0), row.integer(1)), .reused = row.integer(2) != 0});
  });
}

}  // namespace tunebench::store
