#pragma once

#include <string_view>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// What Store::trash_run, undo, gc and gc_preview do.
Run trash_run(Connection& connection, std::string_view reference);
Run undo_trash(Connection& connection);
Removed purge_trash(Connection& connection, std::int64_t older_than_seconds);
Removed preview_purge(Connection& connection, std::int64_t older_than_seconds);

}  // namespace tunebench::store
