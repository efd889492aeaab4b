#include "tunebench/store/internal/open.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/store/internal/location.h"
#include "tunebench/store/internal/postgres_connection.h"
#include "tunebench/store/internal/schema.h"
#include "tunebench/store/internal/sqlite_connection.h"

namespace tunebench::store {
namespace {

void make_folder_of(const std::filesystem::path& file) {
  std::error_code failure;
  const std::filesystem::path folder = file.parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, failure);
  }
  if (failure) {
    throw Error(ErrorCode::Io, fmt::format("cannot make the folder of {}: {}", display_path(file),
                                           failure.message()));
  }
}

[[noreturn]] void throw_nothing_there(const std::filesystem::path& file) {
  throw Error(ErrorCode::NotFound,
              fmt::format("there are no results yet in {}", display_path(file)));
}

std::unique_ptr<Connection> open_for_reading(const std::filesystem::path& file,
                                             std::chrono::milliseconds wait) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    throw_nothing_there(file);
  }
  std::unique_ptr<SqliteConnection> database;
  FileKind kind = FileKind::Empty;
  try {
    database = std::make_unique<SqliteConnection>(file, Access::Read, wait);
    kind = identify(*database);
  } catch (const Error& error) {
    // Reading in WAL mode makes a file beside the store. Where the folder takes none, nobody can
    // be writing either, and the store may be read as it stands.
    const bool other_files = std::filesystem::exists(file.string() + "-wal", failure);
    if (error.code() != ErrorCode::Io || other_files) {
      throw;
    }
    database = std::make_unique<SqliteConnection>(file, Access::ReadImmutable, wait);
    kind = identify(*database);
  }
  if (kind == FileKind::Empty) {
    throw_nothing_there(file);
  }
  if (kind == FileKind::Older) {
    database = SqliteConnection::copy_of(*database);
    bring_up_to_date(*database);
  }
  return database;
}

std::unique_ptr<Connection> open_for_writing(const std::filesystem::path& file, OpenMode mode,
                                             std::chrono::milliseconds wait) {
  std::error_code failure;
  if (mode == OpenMode::Existing && !std::filesystem::exists(file, failure)) {
    throw_nothing_there(file);
  }
  make_folder_of(file);
  auto database = std::make_unique<SqliteConnection>(file, Access::Write, wait);
  FileKind kind = FileKind::Empty;
  database->retry_while_busy([&] { kind = identify(*database); });
  if (kind == FileKind::Empty) {
    // Rows of values take 1 KB and lie between bodies of 4 KB: a scan that has to fetch them from
    // the disk takes a fifth of the time with pages four times as large as SQLite's own choice.
    database->script("PRAGMA page_size = 16384");
  }
  // FULL: a record is on the disk, not only with the operating system, when append returns.
  database->retry_while_busy(
      [&] { database->script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"); });
  database->retry_while_busy([&] { bring_up_to_date(*database); });
  database->script("PRAGMA foreign_keys = ON");
  return database;
}

std::unique_ptr<Connection> open_postgres(const std::string& url, OpenMode mode,
                                          std::chrono::milliseconds wait) {
  auto server = std::make_unique<PostgresConnection>(url, wait);
  if (identify(*server) == FileKind::Empty && mode != OpenMode::Create) {
    throw Error(ErrorCode::NotFound,
                fmt::format("there are no results yet in {}", server->location()));
  }
  if (mode != OpenMode::ReadOnly) {
    bring_up_to_date(*server);
  }
  return server;
}

}  // namespace

std::unique_ptr<Connection> open_connection(const std::string& location, OpenMode mode,
                                            std::chrono::milliseconds wait) {
  if (is_postgres(location)) {
    return open_postgres(location, mode, wait);
  }
  const std::filesystem::path file = location;
  std::error_code failure;
  if (!file.has_filename() || std::filesystem::is_directory(file, failure)) {
    throw Error(ErrorCode::Io,
                fmt::format("{} is a folder; give the name of a file in it", display_path(file)));
  }
  return mode == OpenMode::ReadOnly ? open_for_reading(file, wait)
                                    : open_for_writing(file, mode, wait);
}

}  // namespace tunebench::store
