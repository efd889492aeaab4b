#include "tunebench/data/vocabulary.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "tunebench/base/error.h"

namespace tunebench::data {

Vocabulary::Vocabulary(std::size_t expected)
    : slots_(std::bit_ceil(std::max<std::size_t>(16, expected * 2)), 0) {
  entries_.reserve(expected);
}

std::string_view Vocabulary::token(std::size_t index) const {
  return std::string_view(texts_).substr(entries_[index].begin, entries_[index].length);
}

std::size_t Vocabulary::slot_of(std::string_view token, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) {
      return slot;
    }
    const std::size_t index = slots_[slot] - 1;
    if (entries_[index].hash == hash && this->token(index) == token) {
      return slot;
    }
  }
}

void Vocabulary::insert(std::string_view token, std::int32_t id) {
  TB_CHECK(token.size() < std::numeric_limits<std::uint32_t>::max());
  const std::size_t hash = std::hash<std::string_view>()(token);
  std::size_t slot = slot_of(token, hash);
  if (slots_[slot] != 0) {
    return;
  }
  if ((entries_.size() + 1) * 2 > slots_.size()) {
    grow();
    slot = slot_of(token, hash);
  }
  entries_.push_back({.hash = hash,
                      .begin = texts_.size(),
                      .length = static_cast<std::uint32_t>(token.size()),
                      .id = id});
  texts_ += token;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
}

void Vocabulary::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    std::size_t slot = entries_[index].hash & mask;
    while (slots_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    slots_[slot] = static_cast<std::uint32_t>(index) + 1U;
  }
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const std::size_t slot = slot_of(token, std::hash<std::string_view>()(token));
  return slots_[slot] == 0 ? std::nullopt : std::optional(entries_[slots_[slot] - 1].id);
}

}  // namespace tunebench::data
