#include "tunebench/parquet/parquet.h"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/parquet/internal/arrow_module.h"

namespace tunebench::parquet {
namespace {

constexpr const char* kRemedy =
    "run tools/fetch-arrow in the source folder and build again, or use --format csv";

std::filesystem::path module_file() {
  return own_executable().parent_path() / kModuleFile;
}

/// Stays loaded until the process ends: Arrow has threads and tables of its own.
decltype(&tunebench_parquet_write) loaded_writer() {
  const std::filesystem::path file = module_file();
  if (!std::filesystem::exists(file)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("this build has no Parquet, which is optional: {}", kRemedy));
  }
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("cannot load Parquet: {}; {}", dlerror(), kRemedy));
  }
  using Version = decltype(&tunebench_parquet_version);
  using Write = decltype(&tunebench_parquet_write);
  const auto version = reinterpret_cast<Version>(dlsym(handle, "tunebench_parquet_version"));
  const auto write = reinterpret_cast<Write>(dlsym(handle, "tunebench_parquet_write"));
  if (version == nullptr || write == nullptr || version() != kModuleVersion) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} is of another build: build again", display_path(file)));
  }
  return write;
}

[[noreturn]] void fail_value(const Column& column, const Json& value) {
  throw Error(ErrorCode::Internal,
              fmt::format("column '{}' holds {}", column.name, value.kind_name()));
}

std::int64_t integer_of(const Column& column, const Json& value) {
  if (value.is_bool() == (column.type == ColumnType::Boolean)) {
    if (value.is_bool()) {
      return value.as_bool() ? 1 : 0;
    }
    if (value.is_number()) {
      return value.as_int();
    }
  }
  fail_value(column, value);
}

double real_of(const Column& column, const Json& value) {
  if (!value.is_number()) {
    fail_value(column, value);
  }
  return value.as_double();
}

PlainColumn plain(const Column& column) {
  PlainColumn out{.name = column.name, .type = static_cast<PlainColumn::Type>(column.type)};
  for (const Json& value : column.values) {
    const bool present = !value.is_null();
    out.present.push_back(present ? 1 : 0);
    switch (column.type) {
      case ColumnType::Integer:
      case ColumnType::Boolean:
        out.integers.push_back(present ? integer_of(column, value) : 0);
        break;
      case ColumnType::Real:
        out.reals.push_back(present ? real_of(column, value) : 0.0);
        break;
      case ColumnType::Text:
        out.texts.push_back(value.is_string() ? value.as_string()
                            : present         ? value.dump()
                                              : std::string());
        break;
    }
  }
  return out;
}

}  // namespace

bool is_available() {
  return std::filesystem::exists(module_file());
}

std::string write_parquet(std::span<const Column> columns) {
  const auto write = loaded_writer();
  PlainTable table;
  for (const Column& column : columns) {
    table.rows = column.values.size();
    TB_CHECK(column.values.size() == columns.front().values.size());
    table.columns.push_back(plain(column));
  }
  std::string bytes;
  std::string reason;
  if (!write(&table, &bytes, &reason)) {
    throw Error(ErrorCode::Unsupported, fmt::format("cannot write Parquet: {}", reason));
  }
  return bytes;
}

}  // namespace tunebench::parquet
