#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"

namespace tunebench::expression {

/// What is wrong with an expression.
struct Mistake {
  std::size_t offset = 0;  ///< in bytes from the beginning of the text
  std::string text;
  std::string hint;  ///< "did you mean 'batch'?", or empty
};

/// "column 7", for a text of several lines "line 2, column 7"; columns count characters from 1.
std::string place_in(std::string_view text, std::size_t offset);

/// One condition or value over the named values of a row, in the language of docs/expressions.md:
/// plans, --where and --sort read the same. Evaluated by SQLite, which sees no table. Movable; not
/// thread-safe; may be used and destroyed by another thread than the one that compiled it.
class Expression {
 public:
  /// Collects all unknown names, and the first mistake of any other kind; nullopt when there was
  /// one. names: what the expression may use, case counts.
  static std::optional<Expression> compile(std::string_view text,
                                           std::span<const std::string> names,
                                           std::vector<Mistake>& mistakes);
  /// The same as one line each: "WHERE: unknown name 'bacth' at column 7 - did you mean 'batch'?".
  static std::optional<Expression> compile(std::string_view text,
                                           std::span<const std::string> names,
                                           std::string_view where_it_stands,
                                           Diagnostics& diagnostics);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  /// The names it uses, each once, in the order of their first use: the order of the values below.
  [[nodiscard]] const std::vector<std::string>& used() const;
  [[nodiscard]] const std::string& text() const;

  /// Whether the value is true: a number other than 0. An unknown value (null) is not.
  /// Booleans count as 1 and 0; arrays and objects as their JSON text. Errors: InvalidInput naming
  /// the expression when the value is a text, or when a value is out of the bounds of
  /// docs/expressions.md.
  [[nodiscard]] bool holds(std::span<const Json> used_values) const;
  /// Null, an Integer, a Real or a String. Errors: as above, a text being no error.
  [[nodiscard]] Json value(std::span<const Json> used_values) const;

  /// The same as SQL, for the WHERE clause of a SQLite table with columns of these names, declared
  /// without a type. `column` gives the SQL of a name; the name in double quotes when left out.
  [[nodiscard]] std::string sql() const;
  [[nodiscard]] std::string sql(
      const std::function<std::string(const std::string& name)>& column) const;

 private:
  struct Parts;
  explicit Expression(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Names of the functions that expressions may call.
const std::vector<std::string>& function_names();

}  // namespace tunebench::expression
