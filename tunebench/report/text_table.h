#pragma once

#include <string>
#include <vector>

namespace tunebench::report {

/// A table of text cells, lined up for a terminal or as Markdown.
class TextTable {
 public:
  enum class Align { Left, Right };

  void add_column(std::string title, Align align = Align::Left);
  /// Missing cells are empty; a cell is made one line.
  void add_row(std::vector<std::string> cells);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  /// Columns separated by two blanks, no trailing blanks, a line break after every line.
  [[nodiscard]] std::string text() const;
  /// A GitHub-style table; pipes are escaped.
  [[nodiscard]] std::string markdown() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tunebench::report
