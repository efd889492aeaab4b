#include "tunebench/store/internal/claim_table.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/owner.h"
#include "tunebench/store/internal/run_table.h"

namespace tunebench::store {

Claim ClaimTable::holder(const std::string& run, const std::string& key) const {
  const std::unique_ptr<Rows> rows = connection_.query(
      fmt::format("SELECT {}, until FROM claim JOIN run ON run.name = claim.run "
                  "WHERE claim.key = ? AND claim.run <> ? AND run.status = 'running'",
                  RunTable::kColumns),
      {key, run});
  if (!rows->step()) {
    return {.claimed = true};
  }
  const Run other = RunTable::read(*rows);
  const std::int64_t until = rows->integer(18);
  const std::int64_t now = connection_.now();
  if (until <= now || is_dead(other, now)) {
    return {.claimed = true};
  }
  return {.claimed = false, .run = other.name, .host = other.host, .until = until};
}

Claim ClaimTable::claim(const std::string& run, const std::string& key) {
  Claim claim = holder(run, key);
  if (!claim.claimed) {
    return claim;  // without keeping the writers waiting
  }
  const Owner owner = owner_here();
  connection_.transaction(
      [&] {
        const Run mine = RunTable(connection_).get(run);
        if (mine.status != "running" || !is_owned_by(mine, owner)) {
          throw Error(ErrorCode::InvalidInput,
                      fmt::format("{} no longer runs in this process: {}", run, mine.status));
        }
        claim = holder(run, key);
        if (claim.claimed) {
          claim = {.claimed = true,
                   .run = run,
                   .host = owner.host,
                   .until = connection_.now() + kLease.count()};
          connection_.execute(
              "INSERT INTO claim (key, run, until) VALUES (?, ?, ?) "
              "ON CONFLICT (key) DO UPDATE SET run = excluded.run, until = excluded.until",
              {key, run, claim.until});
        }
      },
      Durability::Relaxed);
  return claim;
}

void ClaimTable::release(const std::string& run, const std::string& key) {
  connection_.transaction(
      [&] {
        connection_.execute("DELETE FROM claim WHERE key = ? AND run = ?", {key, run});
      },
      Durability::Relaxed);
}

std::vector<std::string> ClaimTable::of(const std::string& run) const {
  const std::unique_ptr<Rows> rows =
      connection_.query("SELECT key FROM claim WHERE run = ? ORDER BY key", {run});
  std::vector<std::string> keys;
  while (rows->step()) {
    keys.push_back(rows->text(0));
  }
  return keys;
}

}  // namespace tunebench::store
