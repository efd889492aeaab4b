#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// How long a process waits for others before it gives up. Longer than any transaction here, and
/// than the backups and browsers that lock a store from outside.
inline constexpr std::chrono::milliseconds kWait = std::chrono::seconds(60);

/// The database of a store, checked and, for writing, made or brought up to date.
std::unique_ptr<Connection> open_connection(const std::string& location, OpenMode mode,
                                            std::chrono::milliseconds wait);

/// open_store with another patience.
std::unique_ptr<Store> open_store_waiting(const std::string& location, OpenMode mode,
                                          std::chrono::milliseconds wait);

}  // namespace tunebench::store
