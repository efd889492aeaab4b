#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// What Store::import_run, import_records and shows_record do.
Run import_run(Connection& connection, const Run& run);
std::int64_t import_records(Connection& connection, const std::string& run,
                            std::span<const RunRecord> records);
bool shows_record(Connection& connection, const std::string& id);

}  // namespace tunebench::store
