#include "tunebench/store/internal/run_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/owner.h"
#include "tunebench/store/internal/run_names.h"

namespace tunebench::store {
namespace {

constexpr std::string_view kRunning = "running";
constexpr std::string_view kInterrupted = "interrupted";
constexpr std::string_view kImported = "imported";

[[noreturn]] void throw_runs_elsewhere(const Run& run) {
  throw Error(ErrorCode::InvalidInput, fmt::format("{} is running in another process: {} on {}",
                                                   run.name, run.pid, run.host));
}

}  // namespace

const std::string_view RunTable::kColumns =
    "name, command, started_at, ended_at, status, planned, pid, host, process_start, plan, "
    "stop_reason, heartbeat, valid, failed, reused, simulated, stop_requested, trashed";

std::string now_text() {
  return iso_time(system_clock().unix_seconds());
}

void check_label(std::string_view what, std::string_view label) {
  const bool odd = std::ranges::any_of(label, [](char letter) {
    return static_cast<unsigned char>(letter) <= ' ' || letter == '/' || letter == 127;
  });
  constexpr std::size_t kLongest = 100;
  if (label.empty() || label.size() > kLongest || label.front() == '@' || odd ||
      !is_valid_utf8(label)) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("'{}' cannot be a {}: it must not be empty, longer than 100 bytes, begin "
                    "with @ or hold spaces, slashes or control characters",
                    printable(label), what));
  }
}

Run RunTable::read(const Rows& row) {
  const std::int64_t trashed = row.integer(17);
  return {.name = row.text(0),
          .command = row.text(1),
          .started_at = row.text(2),
          .ended_at = row.text(3),
          .status = row.text(4),
          .planned = row.integer(5),
          .pid = row.integer(6),
          .host = row.text(7),
          .process_start = row.text(8),
          .plan = row.text(9),
          .stop_reason = row.text(10),
          .heartbeat = row.integer(11),
          .valid = row.integer(12),
          .failed = row.integer(13),
          .reused = row.integer(14),
          .simulated = row.integer(15) != 0,
          .stop_requested = row.integer(16) != 0,
          .trashed_at = trashed == 0 ? "" : iso_time(trashed),
          .tags = {}};
}

std::vector<Run> RunTable::read_all(std::string_view tail, const Values& values) const {
  const std::unique_ptr<Rows> rows =
      connection_.query(fmt::format("SELECT {} FROM run {}", kColumns, tail), values);
  std::vector<Run> runs;
  while (rows->step()) {
    runs.push_back(read(*rows));
  }
  return runs;
}

bool RunTable::is_name_taken(const std::string& name) const {
  return connection_.has("SELECT 1 FROM run WHERE name = ?", {name}) ||
         connection_.has("SELECT 1 FROM tag WHERE tag = ?", {name});
}

void RunTable::insert(const Run& run) {
  connection_.execute(
      "INSERT INTO run (name, command, started_at, ended_at, status, planned, pid, host, "
      "process_start, plan, simulated) VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)",
      {run.name, run.command, run.started_at, run.status, run.planned, run.pid, run.host,
       run.process_start, run.plan, std::int64_t{run.simulated}});
}

Run RunTable::begin(const NewRun& wanted) {
  const Owner owner = owner_here();
  Run run{.command = wanted.command,
          .started_at = now_text(),
          .status = std::string(kRunning),
          .planned = wanted.planned,
          .pid = owner.pid,
          .host = owner.host,
          .process_start = owner.process_start,
          .plan = wanted.plan,
          .simulated = wanted.simulated};
  connection_.transaction([&] {
    // Where a connection was lost, the first time may have been kept after all.
    const std::vector<Run> kept = read_all("WHERE name = ?", {run.name});
    if (!kept.empty() && is_owned_by(kept.front(), owner)) {
      return;
    }
    run.name = new_run_name([this](const std::string& name) { return is_name_taken(name); });
    insert(run);
  });
  return run;
}

Run RunTable::resume(std::string_view reference) {
  const Owner owner = owner_here();
  Run run;
  connection_.transaction([&] {
    run = find(reference);
    if (run.status == kImported) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{} was imported; there is nothing to go on with", run.name));
    }
    const bool is_mine = is_owned_by(run, owner);
    if (run.status == kRunning && !is_mine && !is_dead(run, connection_.now())) {
      throw_runs_elsewhere(run);
    }
    if (!is_mine) {
      connection_.execute("DELETE FROM claim WHERE run = ?", {run.name});
    }
    connection_.execute(
        "UPDATE run SET status = ?, ended_at = '', stop_reason = '', stop_requested = 0, "
        "heartbeat = 0, pid = ?, host = ?, process_start = ? WHERE name = ?",
        {std::string(kRunning), owner.pid, owner.host, owner.process_start, run.name});
    run = get(run.name);
  });
  return run;
}

void RunTable::end(const std::string& name, const std::string& status,
                   const std::string& stop_reason) {
  const Owner owner = owner_here();
  connection_.transaction([&] {
    const Run run = get(name);
    if (run.status == kRunning && !is_owned_by(run, owner) && !is_dead(run, connection_.now())) {
      throw_runs_elsewhere(run);
    }
    connection_.execute("UPDATE run SET status = ?, ended_at = ?, stop_reason = ? WHERE name = ?",
                        {status, now_text(), stop_reason, name});
    connection_.execute("DELETE FROM claim WHERE run = ?", {name});
  });
}

Beat RunTable::heartbeat(const std::string& name) {
  const Owner owner = owner_here();
  Beat beat = Beat::Lost;
  connection_.transaction(
      [&] {
        beat = Beat::Lost;
        const std::vector<Run> found = read_all("WHERE name = ? AND status = ? AND trashed = 0",
                                                {name, std::string(kRunning)});
        if (found.empty() || !is_owned_by(found.front(), owner)) {
          return;
        }
        const std::int64_t until = connection_.now() + kLease.count();
        connection_.execute("UPDATE run SET heartbeat = ? WHERE name = ?", {until, name});
        connection_.execute("UPDATE claim SET until = ? WHERE run = ?", {until, name});
        beat = found.front().stop_requested ? Beat::StopRequested : Beat::Going;
      },
      Durability::Relaxed);
  return beat;
}

std::string RunTable::last_kept_at(const Run& run) const {
  const std::string kept =
      connection_.query_text("SELECT max(kept_at) FROM run_record WHERE run = ?", {run.name});
  return kept.empty() ? run.started_at : kept;
}

Run RunTable::mark(Run run) {
  run.status = kInterrupted;
  run.ended_at = last_kept_at(run);
  connection_.execute("UPDATE run SET status = ?, ended_at = ? WHERE name = ?",
                      {run.status, run.ended_at, run.name});
  connection_.execute("DELETE FROM claim WHERE run = ?", {run.name});
  return run;
}

std::vector<Run> RunTable::mark_dead() {
  const auto dead_now = [this] {
    const std::int64_t now = connection_.now();
    std::vector<Run> dead =
        read_all("WHERE status = ? AND trashed = 0 ORDER BY number", {std::string(kRunning)});
    std::erase_if(dead, [now](const Run& run) { return !is_dead(run, now); });
    return dead;
  };
  std::vector<Run> dead = dead_now();
  if (dead.empty()) {
    return dead;  // most often: nobody is kept waiting
  }
  connection_.transaction([&] {
    dead = dead_now();
    for (Run& run : dead) {
      run = mark(std::move(run));
    }
  });
  return dead;
}

void RunTable::request_stop(const std::string& name) {
  connection_.transaction([&] {
    const Run run = get(name);
    if (run.status != kRunning || is_dead(run, connection_.now())) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{} is not running: {}", name,
                              run.status == kRunning ? kInterrupted : run.status));
    }
    connection_.execute("UPDATE run SET stop_requested = 1 WHERE name = ?", {name});
  });
}

void RunTable::add_tags(std::vector<Run>& runs) const {
  std::map<std::string, std::vector<std::string>> tags;
  const std::unique_ptr<Rows> rows = connection_.query("SELECT run, tag FROM tag");
  while (rows->step()) {
    tags[rows->text(0)].push_back(rows->text(1));
  }
  for (Run& run : runs) {
    if (const auto found = tags.find(run.name); found != tags.end()) {
      run.tags = found->second;
      std::ranges::sort(run.tags);  // not as a server's language has it
    }
  }
}

std::vector<Run> RunTable::all() const {
  std::vector<Run> runs = read_all("WHERE trashed = 0 ORDER BY number DESC");
  add_tags(runs);
  return runs;
}

std::vector<Run> RunTable::trashed() const {
  std::vector<Run> runs = read_all("WHERE trashed <> 0 AND purged = 0 ORDER BY trash_number DESC");
  add_tags(runs);
  return runs;
}

Run RunTable::get(const std::string& name) const {
  std::vector<Run> found = read_all("WHERE name = ? AND trashed = 0", {name});
  if (found.empty()) {
    throw Error(ErrorCode::NotFound, fmt::format("no run is named '{}'", printable(name)));
  }
  add_tags(found);
  return std::move(found.front());
}

void RunTable::check(const std::string& name) const {
  if (!connection_.has("SELECT 1 FROM run WHERE name = ? AND trashed = 0", {name})) {
    throw Error(ErrorCode::NotFound, fmt::format("no run is named '{}'", printable(name)));
  }
}

Run RunTable::find(std::string_view reference) const {
  const std::string wanted(reference);
  std::vector<std::string> names;
  const std::unique_ptr<Rows> rows =
      connection_.query("SELECT name FROM run WHERE trashed = 0 ORDER BY number DESC");
  while (rows->step()) {
    names.push_back(rows->text(0));
  }
  std::map<std::string, std::string> tags;
  const std::unique_ptr<Rows> tagged = connection_.query(
      "SELECT tag.tag, tag.run FROM tag JOIN run ON run.name = tag.run WHERE run.trashed = 0");
  while (tagged->step()) {
    tags.emplace(tagged->text(0), tagged->text(1));
  }
  if (const auto found = tags.find(wanted); found != tags.end()) {
    return get(found->second);
  }
  if (connection_.has("SELECT 1 FROM run WHERE name = ? AND trashed <> 0 AND purged = 0",
                      {wanted})) {
    throw Error(
        ErrorCode::NotFound,
        fmt::format("{} is in the trash; undo brings back what was put there last", wanted));
  }
  std::vector<std::string> labels;
  for (const auto& [tag, run] : tags) {
    labels.push_back(tag);
  }
  return get(resolve_run_name(reference, names, labels));
}

void RunTable::tag(const std::string& run, const std::string& tag) {
  check_label("tag", tag);
  connection_.transaction([&] {
    check(run);
    if (connection_.has("SELECT 1 FROM run WHERE name = ?", {tag})) {
      throw Error(ErrorCode::InvalidInput, fmt::format("'{}' is the name of a run", tag));
    }
    const std::string holder = connection_.query_text(
        "SELECT tag.run FROM tag JOIN run ON run.name = tag.run "
        "WHERE tag.tag = ? AND run.trashed = 0",
        {tag});
    if (!holder.empty() && holder != run) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("'{}' is a tag of {}; take it away there first", tag, holder));
    }
    connection_.execute("DELETE FROM tag WHERE tag = ?", {tag});
    connection_.execute("INSERT INTO tag (tag, run) VALUES (?, ?)", {tag, run});
  });
}

void RunTable::untag(const std::string& tag) {
  connection_.transaction([&] {
    if (connection_.execute("DELETE FROM tag WHERE tag = ?", {tag}) > 0) {
      return;
    }
    std::vector<std::string> tags;
    const std::unique_ptr<Rows> rows = connection_.query("SELECT tag FROM tag");
    while (rows->step()) {
      tags.push_back(rows->text(0));
    }
    const std::string hint = did_you_mean(tag, tags);
    throw Error(ErrorCode::NotFound, fmt::format("no run has the tag '{}'{}", printable(tag),
                                                 hint.empty() ? "" : " - " + hint));
  });
}

}  // namespace tunebench::store
