#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

/// Deeper documents are refused: values are destroyed and written by recursion.
constexpr std::size_t kDeepest = 1000;

/// Reads the text while telling how far the parser got, since the parser names no position for
/// keys.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;  // NOLINT(readability-identifier-naming): std
  using value_type = char;                            // NOLINT(readability-identifier-naming): std
  using difference_type = std::ptrdiff_t;             // NOLINT(readability-identifier-naming): std
  using pointer = const char*;                        // NOLINT(readability-identifier-naming): std
  using reference = const char&;                      // NOLINT(readability-identifier-naming): std

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Takes the parser's events and builds the value. Its function names are the parser's.
class Builder {
 public:
  Builder(std::string_view text, std::string_view origin)
      : text_(text), origin_(origin), reached_(text.data()) {}

  Json take() {
    const CountingIterator begin(text_.data(), &reached_);
    const CountingIterator end(text_.data() + text_.size(), &reached_);
    nlohmann::json::sax_parse(begin, end, this);
    return std::move(root_);
  }

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) {
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    return value <= kLargest ? add(Json(static_cast<std::int64_t>(value)))
                             : add(Json(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool key(std::string& name) {
    open_.back()->as_object().emplace_back(std::move(name), Json());
    key_ends_.push_back(offset());
    return true;
  }
  bool end_object() {
    const Json::Object& members = open_.back()->as_object();
    refuse_equal_keys(members);
    key_ends_.resize(key_ends_.size() - members.size());
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    fail(position == 0 ? 0 : position - 1, "not valid JSON: " + reason(error.what()));
  }

  /// Errors: always.
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("{}:{}:{}: {}", origin_, 1 + std::count(before.begin(), before.end(), '\n'),
                    1 + display_width(before.substr(line_start)), what));
  }

 private:
  [[nodiscard]] std::size_t offset() const {
    return static_cast<std::size_t>(reached_ - text_.data());
  }

  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      return &parent.as_array().emplace_back(std::move(value));
    }
    Json& member = parent.as_object().back().second;
    member = std::move(value);
    return &member;
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() == kDeepest) {
      fail(offset() - 1, fmt::format("nested more than {} levels deep", kDeepest));
    }
    // Only the innermost container grows, so the pointers to those around it stay good.
    open_.push_back(place(std::move(container)));
    return true;
  }

  void refuse_equal_keys(const Json::Object& members) const {
    const std::size_t first_end = key_ends_.size() - members.size();
    const auto refuse = [&](std::size_t i) {
      fail(start_of_string(key_ends_[first_end + i]),
           fmt::format("key '{}' appears twice in one object", excerpt(members[i].first)));
    };
    constexpr std::size_t kFew = 8;
    if (members.size() <= kFew) {
      for (std::size_t i = 1; i < members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (members[i].first == members[j].first) {
            refuse(i);
          }
        }
      }
      return;
    }
    std::unordered_set<std::string_view> seen;
    seen.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!seen.insert(members[i].first).second) {
        refuse(i);
      }
    }
  }

  /// Where the string literal begins that ends just before `end`.
  [[nodiscard]] std::size_t start_of_string(std::size_t end) const {
    std::size_t at = end - 1;
    while (true) {
      at = text_.rfind('"', at - 1);
      std::size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\') {
        ++slashes;
      }
      if (slashes % 2 == 0) {
        return at;
      }
    }
  }

  /// The parser's text without its error number, position (which ours replaces) and last token
  /// (which may be the rest of the file).
  static std::string reason(std::string_view what) {
    const std::size_t number_end = what.find("] ");
    what.remove_prefix(number_end == std::string_view::npos ? 0 : number_end + 2);
    const std::size_t dash = what.find(" - ");
    what.remove_prefix(dash == std::string_view::npos ? 0 : dash + 3);
    return printable(what.substr(0, what.find("; last read:")));
  }

  std::string_view text_;
  std::string_view origin_;
  const char* reached_;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::size_t> key_ends_;  ///< of the members of all open objects, outermost first
};

}  // namespace

Json Json::parse(std::string_view text, std::string_view origin) {
  Builder builder(text, origin);
  // The parser would take a zero byte for the end of the text and ignore what follows.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    builder.fail(zero, "not valid JSON: a zero byte");
  }
  return builder.take();
}

}  // namespace tunebench
