#include "tunebench/store/internal/connection.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::store {

std::int64_t Connection::query_integer(std::string_view sql, const Values& values) {
  const std::unique_ptr<Rows> rows = query(sql, values);
  return rows->step() ? rows->integer(0) : 0;
}

std::string Connection::query_text(std::string_view sql, const Values& values) {
  const std::unique_ptr<Rows> rows = query(sql, values);
  return rows->step() ? rows->text(0) : "";
}

bool Connection::has(std::string_view sql, const Values& values) {
  return query(sql, values)->step();
}

std::int64_t Connection::now() {
  return query_integer(fmt::format("SELECT {}", dialect().now));
}

std::string in_dialect(const Dialect& dialect, std::string_view sql) {
  const std::array words{std::pair{std::string_view("@number_key"), dialect.number_key},
                         std::pair{std::string_view("@integer"), dialect.integer},
                         std::pair{std::string_view("@real"), dialect.real}};
  std::string text(sql);
  for (const auto& [word, replacement] : words) {
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + replacement.size())) {
      text.replace(at, word.size(), replacement);
    }
  }
  return text;
}

std::string storable_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0 || text.front() == '\0') {
      clean += kReplacement;
      text.remove_prefix(1);
    } else {
      clean += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

}  // namespace tunebench::store
