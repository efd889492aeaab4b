#include "tunebench/analyze/selection.h"

#include <algorithm>
#include <map>

#include "tunebench/base/text.h"

namespace tunebench::analyze {
namespace {

/// Negative, 0 or positive as `a` comes before, with or after `b`; both have a value.
int order_of(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double() ? 1 : 0;
  }
  if (a.is_number() != b.is_number()) {
    return a.is_number() ? -1 : 1;
  }
  return a.as_string().compare(b.as_string());
}

}  // namespace

std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> terms;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      terms.emplace_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  terms.emplace_back(trim(text.substr(begin)));
  return terms;
}

std::optional<Selection> Selection::compile(const SelectionText& text, const Columns& columns,
                                            Diagnostics& problems) {
  const std::size_t before = problems.size();
  Selection selection(columns);
  selection.top_ = text.top;
  const auto read = [&](std::string_view term, std::string_view option) {
    return expression::Expression::compile(term, columns.names(), option, problems);
  };
  if (!text.where.empty()) {
    selection.where_ = read(text.where, "--where");
  }
  if (!text.sort.empty()) {
    for (const std::string& term : split_terms(text.sort)) {
      const bool descending = term.starts_with('-');
      std::optional<expression::Expression> key = read(term.substr(descending ? 1 : 0), "--sort");
      if (key) {
        selection.sort_.push_back({std::move(*key), descending});
      }
    }
  }
  if (!text.group_by.empty()) {
    for (const std::string& term : split_terms(text.group_by)) {
      std::optional<expression::Expression> key = read(term, "--group-by");
      if (key) {
        selection.group_by_.push_back(std::move(*key));
      }
    }
  }
  return problems.size() == before ? std::optional(std::move(selection)) : std::nullopt;
}

std::vector<Json> Selection::used_values(const expression::Expression& expression,
                                         const Json& row) const {
  std::vector<Json> values;
  values.reserve(expression.used().size());
  for (const std::string& name : expression.used()) {
    values.push_back(columns_.value(row, name));
  }
  return values;
}

bool Selection::takes(const Json& row) const {
  return !where_ || where_->holds(used_values(*where_, row));
}

Json::Array Selection::group_of(const Json& row) const {
  Json::Array values;
  for (const expression::Expression& key : group_by_) {
    // A name alone keeps its kind: true stays true.
    const bool is_name = key.used().size() == 1 && key.used().front() == trim(key.text());
    values.push_back(is_name ? columns_.value(row, key.used().front())
                             : key.value(used_values(key, row)));
  }
  return values;
}

std::vector<std::string> Selection::group_names() const {
  std::vector<std::string> names;
  for (const expression::Expression& key : group_by_) {
    names.push_back(key.text());
  }
  return names;
}

void Selection::sort(std::vector<std::size_t>& taken, std::span<const Json> rows) const {
  if (sort_.empty()) {
    return;
  }
  std::vector<Json::Array> keys(rows.size());
  for (const std::size_t index : taken) {
    for (const SortKey& key : sort_) {
      keys[index].push_back(key.expression.value(used_values(key.expression, rows[index])));
    }
  }
  std::stable_sort(taken.begin(), taken.end(), [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < sort_.size(); ++i) {
      const Json& left = keys[a][i];
      const Json& right = keys[b][i];
      if (left.is_null() || right.is_null()) {
        if (left.is_null() != right.is_null()) {
          return right.is_null();
        }
        continue;
      }
      const int order = order_of(left, right);
      if (order != 0) {
        return sort_[i].descending ? order > 0 : order < 0;
      }
    }
    return false;
  });
}

std::vector<std::size_t> Selection::apply(std::span<const Json> rows) const {
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (takes(rows[i])) {
      taken.push_back(i);
    }
  }
  sort(taken, rows);
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> places;
  for (const std::size_t index : taken) {
    const std::string group = Json::array(group_of(rows[index])).dump();
    const auto [place, added] = places.try_emplace(group, groups.size());
    if (added) {
      groups.emplace_back();
    }
    std::vector<std::size_t>& members = groups[place->second];
    if (!top_ || members.size() < *top_) {
      members.push_back(index);
    }
  }
  std::vector<std::size_t> order;
  for (const std::vector<std::size_t>& members : groups) {
    order.insert(order.end(), members.begin(), members.end());
  }
  return order;
}

}  // namespace tunebench::analyze
