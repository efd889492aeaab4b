#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "tunebench/store/internal/database.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// How long a process waits for others before it gives up. Longer than any transaction here, and
/// than the backups and browsers that lock a store from outside.
inline constexpr std::chrono::milliseconds kWait = std::chrono::seconds(60);

/// The file of a store, checked and, for writing, made.
std::unique_ptr<Database> open_database(const std::filesystem::path& file, OpenMode mode,
                                        std::chrono::milliseconds wait);

/// open_store with another patience.
std::unique_ptr<Store> open_store_waiting(const std::filesystem::path& file, OpenMode mode,
                                          std::chrono::milliseconds wait);

}  // namespace tunebench::store
