#pragma once

#include <cstdint>
#include <string>

#include "tunebench/store/store.h"

namespace tunebench::store {

/// This process, as runs name it.
struct Owner {
  std::string host;
  std::int64_t pid = 0;
  std::string process_start;
};
Owner owner_here();

bool is_owned_by(const Run& run, const Owner& owner);

/// Whether a run that says running no longer does. A process of this machine is looked at; else the
/// lease decides. Hosts of one name are told apart by their boot id. A process that is plainly
/// alive but late, as on a machine that slept, has another lease's time to speak.
bool is_dead(const Run& run, std::int64_t now);

}  // namespace tunebench::store
