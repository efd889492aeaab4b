#include "tunebench/report/text_table.h"

#include <algorithm>

#include "tunebench/base/text.h"

namespace tunebench::report {

namespace {

std::string padded(const std::string& text, std::size_t width, TextTable::Align align) {
  const std::size_t columns = display_width(text);
  const std::string blanks(columns < width ? width - columns : 0, ' ');
  return align == TextTable::Align::Right ? blanks + text : text + blanks;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    result += letter == '|' ? std::string("\\|") : std::string(1, letter);
  }
  return result;
}

}  // namespace

void TextTable::add_column(std::string title, Align align) {
  columns_.push_back({std::move(title), align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) {
    cell = printable(cell);
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const std::vector<std::string>& row : rows_) {
      width = std::max(width, display_width(row[i]));
    }
    result.push_back(width);
  }
  return result;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string result;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded(cells[i], width[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
  }
  add_line(titles);
  for (const std::vector<std::string>& row : rows_) {
    add_line(row);
  }
  return result;
}

std::string TextTable::markdown() const {
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : columns_) {
    titles += " " + escaped(column.title) + " |";
    rule += column.align == Align::Right ? " ---: |" : " --- |";
  }
  std::string result = titles + "\n" + rule + "\n";
  for (const std::vector<std::string>& row : rows_) {
    result += "|";
    for (const std::string& cell : row) {
      result += " " + escaped(cell) + " |";
    }
    result += "\n";
  }
  return result;
}

}  // namespace tunebench::report
