#include "tunebench/expression/expression.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/expression/internal/row_query.h"
#include "tunebench/expression/internal/syntax.h"

namespace tunebench::expression {
namespace {

/// The pieces joined, names as `name_sql` writes them.
template <typename NameSql>
std::string joined(const std::vector<Piece>& pieces, NameSql&& name_sql) {
  std::string sql;
  for (const Piece& piece : pieces) {
    sql += sql.empty() ? "" : " ";
    sql += piece.is_name ? name_sql(piece.text) : piece.text;
  }
  return sql;
}

std::vector<std::string> names_in(const std::vector<Piece>& pieces) {
  std::vector<std::string> names;
  for (const Piece& piece : pieces) {
    if (piece.is_name && std::find(names.begin(), names.end(), piece.text) == names.end()) {
      names.push_back(piece.text);
    }
  }
  return names;
}

std::string numbered(const std::vector<std::string>& used, const std::string& name) {
  return fmt::format("?{}", std::find(used.begin(), used.end(), name) - used.begin() + 1);
}

}  // namespace

struct Expression::Parts {
  Parts(std::string the_text, std::vector<Piece> the_pieces)
      : text(std::move(the_text)),
        pieces(std::move(the_pieces)),
        used(names_in(pieces)),
        query(joined(pieces, [&](const std::string& name) { return numbered(used, name); })) {}

  std::string text;
  std::vector<Piece> pieces;
  std::vector<std::string> used;
  RowQuery query;
};

Expression::Expression(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t last_break = before.rfind('\n');
  const std::string_view line = last_break == before.npos ? before : before.substr(last_break + 1);
  const std::string column = fmt::format("column {}", display_width(line) + 1);
  if (text.find('\n') == text.npos) {
    return column;
  }
  return fmt::format("line {}, {}", std::count(before.begin(), before.end(), '\n') + 1, column);
}

std::optional<Expression> Expression::compile(std::string_view text,
                                              std::span<const std::string> names,
                                              std::vector<Mistake>& mistakes) {
  const std::size_t before = mistakes.size();
  std::vector<Piece> pieces = parse(text, names, mistakes);
  if (mistakes.size() != before) {
    return std::nullopt;
  }
  try {
    return Expression(std::make_unique<Parts>(std::string(text), std::move(pieces)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidInput) {
      throw;
    }
    // What only SQLite bounds: the height of its tree of "or"s, the depth of its parser's stack.
    mistakes.push_back({0, fmt::format("too complex: {}", error.message()), {}});
    return std::nullopt;
  }
}

std::optional<Expression> Expression::compile(std::string_view text,
                                              std::span<const std::string> names,
                                              std::string_view where_it_stands,
                                              Diagnostics& diagnostics) {
  std::vector<Mistake> mistakes;
  std::optional<Expression> expression = compile(text, names, mistakes);
  for (const Mistake& mistake : mistakes) {
    diagnostics.push_back({std::string(where_it_stands),
                           fmt::format("{} at {}", mistake.text, place_in(text, mistake.offset)),
                           mistake.hint});
  }
  return expression;
}

const std::vector<std::string>& Expression::used() const {
  return parts_->used;
}

const std::string& Expression::text() const {
  return parts_->text;
}

bool Expression::holds(std::span<const Json> used_values) const {
  const auto note = [&] { return fmt::format("expression '{}'", excerpt(parts_->text)); };
  int truth = 0;
  try {
    truth = parts_->query.truth(used_values);
  } catch (Error& error) {
    error.add_context(note());
    throw;
  }
  if (truth < 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} gives a text, which is neither true nor false; compare it with "
                            "something",
                            note()));
  }
  return truth == 1;
}

Json Expression::value(std::span<const Json> used_values) const {
  try {
    return parts_->query.evaluate(used_values);
  } catch (Error& error) {
    error.add_context(fmt::format("expression '{}'", excerpt(parts_->text)));
    throw;
  }
}

std::string Expression::sql() const {
  return sql([](const std::string& name) { return fmt::format("\"{}\"", name); });
}

std::string Expression::sql(
    const std::function<std::string(const std::string& name)>& column) const {
  return joined(parts_->pieces, column);
}

}  // namespace tunebench::expression
