#pragma once

#include <string>
#include <vector>

#include "tunebench/store/internal/connection.h"

namespace tunebench::store {

/// What check_store does, with an open store.
std::vector<std::string> check_connection(Connection& connection);

}  // namespace tunebench::store
