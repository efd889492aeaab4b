#include "tunebench/data/added_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

/// Begin of the code point that ends before `at`.
std::size_t previous_code_point(std::string_view text, std::size_t at) {
  do {
    --at;
  } while ((static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  return at;
}

bool word_before(std::string_view text, std::size_t at) {
  if (at == 0) {
    return false;
  }
  std::size_t begin = previous_code_point(text, at);
  return is_word(next_code_point(text, begin));
}

bool word_after(std::string_view text, std::size_t at) {
  return at < text.size() && is_word(next_code_point(text, at));
}

std::size_t skip_space_back(std::string_view text, std::size_t at, std::size_t stop) {
  while (at > stop) {
    const std::size_t begin = previous_code_point(text, at);
    std::size_t cursor = begin;
    if (!is_white_space(next_code_point(text, cursor))) {
      break;
    }
    at = begin;
  }
  return std::max(at, stop);
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_white_space(next_code_point(text, next))) {
      break;
    }
    at = next;
  }
  return at;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  TB_CHECK(!token.content.empty());
  std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(token.content[0])];
  const std::size_t length = token.content.size();
  const auto place = std::lower_bound(lengths.begin(), lengths.end(), length, std::greater<>());
  if (place == lengths.end() || *place != length) {
    lengths.insert(place, length);
  }
  std::string key = token.content;
  tokens_.insert_or_assign(std::move(key), std::move(token));
}

const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at) const {
  for (const std::size_t length : lengths_[static_cast<unsigned char>(text[at])]) {
    if (length > text.size() - at) {
      continue;
    }
    const auto found = tokens_.find(std::string(text.substr(at, length)));
    if (found != tokens_.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text, std::size_t from,
                                                    std::size_t done) const {
  while (from < text.size()) {
    const AddedToken* token = longest_at(text, from);
    if (token == nullptr) {
      ++from;
      continue;
    }
    Span span{.begin = from, .end = from + token->content.size()};
    from = span.end;
    // A token refused for touching a word still uses up its text. One inside the white space that
    // another token has taken still counts: so the reference library does it.
    if (token->single_word && (word_before(text, span.begin) || word_after(text, span.end))) {
      continue;
    }
    const std::size_t next = span.end;
    if (token->lstrip) {
      span.begin = skip_space_back(text, span.begin, done);
    }
    if (token->rstrip) {
      span.end = skip_space(text, span.end);
    }
    return Found{.span = span, .id = token->id, .next = next};
  }
  return std::nullopt;
}

}  // namespace tunebench::data
