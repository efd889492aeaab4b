#include "tunebench/store/internal/owner.h"

#include <unistd.h>

#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/process.h"

namespace tunebench::store {
namespace {

std::string_view boot_of(std::string_view start) {
  return start.substr(0, start.find(':'));
}

}  // namespace

Owner owner_here() {
  return {
      .host = host_name(), .pid = getpid(), .process_start = process_start(getpid()).value_or("")};
}

bool is_owned_by(const Run& run, const Owner& owner) {
  return run.host == owner.host && run.pid == owner.pid && run.process_start == owner.process_start;
}

bool is_dead(const Run& run, std::int64_t now) {
  const bool has_lease = run.heartbeat != 0;
  if (run.host == host_name() &&
      (!has_lease || boot_of(run.process_start) == boot_of(owner_here().process_start))) {
    return process_start(run.pid) != run.process_start ||
           (has_lease && run.heartbeat + kLease.count() <= now);
  }
  return has_lease && run.heartbeat <= now;
}

}  // namespace tunebench::store
