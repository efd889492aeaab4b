#pragma once

#include <string>
#include <vector>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// What Store::set_baseline, baseline, remove_baseline and baselines do.
void set_baseline(Connection& connection, const std::string& name, const std::string& run);
Run find_baseline(Connection& connection, const std::string& name);
void remove_baseline(Connection& connection, const std::string& name);
std::vector<Baseline> list_baselines(Connection& connection);

}  // namespace tunebench::store
