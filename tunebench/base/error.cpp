#include "tunebench/base/error.h"

#include <fmt/format.h>

namespace tunebench {

Error::Error(ErrorCode code, std::string message, SourceLocation where)
    : code_(code), message_(std::move(message)), where_(where) {}

void Error::add_context(std::string_view note) {
  message_ = fmt::format("{}: {}", note, message_);
}

void throw_check_failed(const char* condition, SourceLocation where) {
  throw Error(ErrorCode::Internal,
              fmt::format("internal check failed: {} ({}:{})", condition, where.file, where.line),
              where);
}

}  // namespace tunebench
