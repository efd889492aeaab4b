#include "tunebench/store/internal/open.h"

#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/user_folder.h"
#include "tunebench/store/internal/schema.h"

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

std::unique_ptr<Database> open_for_reading(const std::filesystem::path& file,
                                           std::chrono::milliseconds wait) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    throw_nothing_there(file);
  }
  std::unique_ptr<Database> database;
  FileKind kind = FileKind::Empty;
  try {
    database = std::make_unique<Database>(file, Access::Read, wait);
    kind = identify(*database);
  } catch (const Error& error) {
    // Reading in WAL mode makes a file beside the store. Where the folder takes none, nobody can
    // be writing either, and the store may be read as it stands.
    const bool other_files = std::filesystem::exists(file.string() + "-wal", failure);
    if (error.code() != ErrorCode::Io || other_files) {
      throw;
    }
    database = std::make_unique<Database>(file, Access::ReadImmutable, wait);
    kind = identify(*database);
  }
  if (kind == FileKind::Empty) {
    throw_nothing_there(file);
  }
  return database;
}

std::unique_ptr<Database> open_for_writing(const std::filesystem::path& file,
                                           std::chrono::milliseconds wait) {
  make_folder_of(file);
  auto database = std::make_unique<Database>(file, Access::Write, wait);
  FileKind kind = FileKind::Empty;
  database->retry_while_busy([&] { kind = identify(*database); });
  // FULL: a record is on the disk, not only with the operating system, when append returns.
  database->retry_while_busy(
      [&] { database->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"); });
  database->execute("PRAGMA foreign_keys = ON");
  if (kind == FileKind::Empty) {
    create_schema(*database);
  }
  return database;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

std::unique_ptr<Database> open_database(const std::filesystem::path& file, OpenMode mode,
                                        std::chrono::milliseconds wait) {
  std::error_code failure;
  if (!file.has_filename() || std::filesystem::is_directory(file, failure)) {
    throw Error(ErrorCode::Io,
                fmt::format("{} is a folder; give the name of a file in it", display_path(file)));
  }
  return mode == OpenMode::ReadOnly ? open_for_reading(file, wait) : open_for_writing(file, wait);
}

std::filesystem::path default_store_path(std::string_view option) {
  if (!option.empty()) {
    return option;
  }
  if (const char* path = variable("TUNEBENCH_STORE")) {
    return path;
  }
  return with_context("no file is given with --store", user_data_folder) / "store.db";
}

}  // namespace tunebench::store
