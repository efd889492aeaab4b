#include "tunebench/data/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/byte_alphabet.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

/// Place of a pair of characters in a table of bits; several pairs may share one.
constexpr std::size_t kJointBits = std::size_t{1} << 20U;
std::size_t joint_place(char32_t left, char32_t right) {
  const std::uint64_t key = (static_cast<std::uint64_t>(left) << 32U) | right;
  return ((key * 0x9E3779B97F4A7C15U) >> 44U) % kJointBits;
}

char32_t first_point(std::string_view text) {
  std::size_t at = 0;
  return next_code_point(text, at);
}

char32_t last_point(std::string_view text) {
  std::size_t at = text.size() - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return next_code_point(text, at);
}

std::int32_t require(const Vocabulary& vocabulary, std::string_view token, std::string_view first,
                     std::string_view second, std::string_view role) {
  if (const std::optional<std::int32_t> id = vocabulary.find(token)) {
    return *id;
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("has the merge '{}' + '{}', whose {} '{}' is not in the vocabulary",
                          excerpt(first), excerpt(second), role, excerpt(token)));
}

/// Bytes that no UTF-8 text holds.
bool never_in_utf8(std::size_t byte) {
  return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5;
}

}  // namespace

MergeTable::MergeTable(std::size_t count)
    : mask_(std::bit_ceil(std::max<std::size_t>(16, count * 2)) - 1),
      keys_(mask_ + 1, kFree),
      merges_(mask_ + 1) {}

void MergeTable::insert(std::int32_t first, std::int32_t second, Merge merge) {
  const std::uint64_t key = make_key(first, second);
  std::size_t slot = slot_of(key);
  while (keys_[slot] != kFree && keys_[slot] != key) {
    slot = (slot + 1) & mask_;
  }
  keys_[slot] = key;
  merges_[slot] = merge;
}

Bpe::Bpe(Vocabulary vocabulary, const MergeList& merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)), merges_(merges.size()) {
  std::uint32_t rank = 0;
  std::string joined;
  for (const auto& [first, second] : merges) {
    if (first.empty() || second.empty()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("has merge {} with an empty part", rank + 1));
    }
    joined = first;
    joined +=
        std::string_view(second).substr(std::min(second.size(), options_.continuing_prefix.size()));
    const std::int32_t left = require(vocabulary_, first, first, second, "part");
    const std::int32_t right = require(vocabulary_, second, first, second, "part");
    merges_.insert(left, right,
                   {.rank = rank++, .id = require(vocabulary_, joined, first, second, "result")});
  }
  for (std::size_t byte = 0; byte < fallback_.size(); ++byte) {
    fallback_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(kNone);
  }
  all_fallback_ = std::find(fallback_.begin(), fallback_.end(), kNone) == fallback_.end();
  for (std::size_t point = 0; point < ascii_.size(); ++point) {
    ascii_[point] = vocabulary_.find(std::string(1, static_cast<char>(point))).value_or(kNone);
  }
  find_joints(merges);
}

void Bpe::find_joints(const MergeList& merges) {
  // With a prefix or a suffix a symbol is more than the characters of the text, and so is a byte
  // piece: no cut can be proved harmless then.
  const auto is_byte_piece = [](std::string_view token) {
    return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
  };
  joints_known_ = options_.continuing_prefix.empty() && options_.end_suffix.empty();
  joints_.assign(kJointBits, false);
  for (const auto& [first, second] : merges) {
    if (options_.byte_fallback && (is_byte_piece(first) || is_byte_piece(second))) {
      joints_known_ = false;
    }
    joints_[joint_place(last_point(first), first_point(second))] = true;
  }
}

bool Bpe::may_join(char32_t left, char32_t right) const {
  return joints_[joint_place(left, right)];
}

bool Bpe::take_bytes() {
  if (!options_.continuing_prefix.empty() || !options_.end_suffix.empty()) {
    return false;
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const std::optional<std::int32_t> id = vocabulary_.find(byte_letters()[byte]);
    if (!id && !never_in_utf8(byte)) {
      return false;
    }
    byte_ids_[byte] = id.value_or(kNone);
  }
  Vocabulary by_bytes;
  if (options_.ignore_merges) {  // else tokens are only reached by merging
    for (std::size_t index = 0; index < vocabulary_.size(); ++index) {
      if (const auto bytes = from_byte_letters(vocabulary_.token(index))) {
        by_bytes.insert(*bytes, vocabulary_.id(index));
      }
    }
  }
  std::vector<bool> by_byte(kJointBits, false);
  for (std::size_t left = 0; left < 256; ++left) {
    for (std::size_t right = 0; right < 256; ++right) {
      if (may_join(first_point(byte_letters()[left]), first_point(byte_letters()[right]))) {
        by_byte[joint_place(static_cast<char32_t>(left), static_cast<char32_t>(right))] = true;
      }
    }
  }
  joints_ = std::move(by_byte);
  vocabulary_ = std::move(by_bytes);
  bytes_ = true;
  cache_.clear();
  return true;
}

void Bpe::encode(std::string_view piece, std::vector<std::int32_t>& ids, std::size_t enough) const {
  if (piece.size() > PieceCache::kLongest) {
    return encode_parts(piece, ids, enough);
  }
  if (cache_.find(piece, ids)) {
    return;
  }
  const std::size_t before = ids.size();
  const std::optional<std::int32_t> whole =
      options_.ignore_merges ? vocabulary_.find(piece) : std::nullopt;
  if (whole) {
    ids.push_back(*whole);
  } else {
    encode_word(piece, ids);
  }
  cache_.insert(piece, ids.data() + before, ids.size() - before);
}

void Bpe::encode_parts(std::string_view piece, std::vector<std::int32_t>& ids,
                       std::size_t enough) const {
  if (options_.ignore_merges) {
    if (const std::optional<std::int32_t> whole = vocabulary_.find(piece)) {
      ids.push_back(*whole);
      return;
    }
  }
  if (!may_cut(piece)) {
    return encode_word(piece, ids);
  }
  for (std::size_t from = 0; from < piece.size() && ids.size() < enough;) {
    const std::size_t end = next_cut(piece, from);
    const std::string_view part = piece.substr(from, end - from);
    from = end;
    // ignore_merges speaks of whole pieces, so what the cache knows of pieces is not for parts.
    if (options_.ignore_merges || part.size() > PieceCache::kLongest) {
      encode_word(part, ids);
    } else if (!cache_.find(part, ids)) {
      const std::size_t before = ids.size();
      encode_word(part, ids);
      cache_.insert(part, ids.data() + before, ids.size() - before);
    }
  }
}

/// Unknown characters are counted across cuts, so a piece that holds one stays whole.
bool Bpe::may_cut(std::string_view piece) const {
  if (!joints_known_) {
    return false;
  }
  if (bytes_ || (options_.byte_fallback && all_fallback_)) {
    return true;
  }
  const auto has_fallback = [this](char byte) {
    return fallback_[static_cast<unsigned char>(byte)] != kNone;
  };
  for (std::size_t at = 0; at < piece.size();) {
    const std::string_view symbol = piece.substr(at, code_point_length(piece[at]));
    at += symbol.size();
    const bool known = symbol.size() == 1 ? ascii_[static_cast<unsigned char>(symbol[0])] != kNone
                                          : vocabulary_.find(symbol).has_value();
    if (!known &&
        !(options_.byte_fallback && std::all_of(symbol.begin(), symbol.end(), has_fallback))) {
      return false;
    }
  }
  return true;
}

std::size_t Bpe::next_cut(std::string_view piece, std::size_t from) const {
  const auto next = [&](std::size_t& at) {
    return bytes_ ? static_cast<char32_t>(static_cast<unsigned char>(piece[at++]))
                  : next_code_point(piece, at);
  };
  std::size_t at = from;
  char32_t left = next(at);
  while (at < piece.size()) {
    const std::size_t here = at;
    const char32_t right = next(at);
    if (!may_join(left, right)) {
      return here;
    }
    left = right;
  }
  return piece.size();
}

void Bpe::encode_word(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::vector<std::int32_t> symbols;
  symbols.reserve(piece.size());
  if (bytes_) {
    for (const char byte : piece) {
      symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    }
  } else {
    append_symbols(piece, symbols);
  }
  constexpr std::size_t kShort = 64;
  if (symbols.size() <= kShort) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

bool Bpe::append_byte_pieces(std::string_view symbol, std::vector<std::int32_t>& symbols) const {
  const std::size_t before = symbols.size();
  for (const char byte : symbol) {
    const std::int32_t id = fallback_[static_cast<unsigned char>(byte)];
    if (id == kNone) {
      symbols.resize(before);
      return false;
    }
    symbols.push_back(id);
  }
  return true;
}

/// An unknown character waits for the next known one before it is written, and byte pieces overtake
/// it: so the reference library orders them. Without an id for unknown characters they are left
/// out.
void Bpe::append_symbols(std::string_view piece, std::vector<std::int32_t>& symbols) const {
  bool unknown_waits = false;
  std::string symbol;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = code_point_length(piece[at]);
    symbol = at == 0 ? std::string() : options_.continuing_prefix;
    symbol += piece.substr(at, length);
    at += length;
    if (at == piece.size()) {
      symbol += options_.end_suffix;
    }
    const std::int32_t id = symbol.size() == 1 ? ascii_[static_cast<unsigned char>(symbol[0])]
                                               : vocabulary_.find(symbol).value_or(kNone);
    if (id != kNone) {
      if (unknown_waits) {
        symbols.push_back(*options_.unknown);
        unknown_waits = false;
      }
      symbols.push_back(id);
    } else if (options_.byte_fallback && append_byte_pieces(symbol, symbols)) {
      continue;
    } else if (options_.unknown) {
      if (unknown_waits && !options_.fuse_unknown) {
        symbols.push_back(*options_.unknown);
      }
      unknown_waits = true;
    }
  }
  if (unknown_waits) {
    symbols.push_back(*options_.unknown);
  }
}

/// Looks at all pairs for each merge: the quickest way for a word.
void Bpe::merge_short(std::vector<std::int32_t>& symbols) const {
  constexpr std::size_t kMost = 64;
  std::array<MergeTable::Merge, kMost> merges{};
  const auto look_up = [&](std::size_t at) {
    const MergeTable::Merge* merge = merges_.find(symbols[at], symbols[at + 1]);
    merges[at] = merge == nullptr ? MergeTable::Merge{.rank = kNoRank, .id = kNone} : *merge;
  };
  std::size_t count = symbols.size();
  for (std::size_t at = 0; at + 1 < count; ++at) {
    look_up(at);
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t at = 1; at + 1 < count; ++at) {
      if (merges[at].rank < merges[best].rank) {
        best = at;
      }
    }
    if (merges[best].rank == kNoRank) {
      break;
    }
    symbols[best] = merges[best].id;
    --count;
    for (std::size_t at = best + 1; at < count; ++at) {
      symbols[at] = symbols[at + 1];
      merges[at] = merges[at + 1];
    }
    if (best + 1 < count) {
      look_up(best);
    }
    if (best > 0) {
      look_up(best - 1);
    }
  }
  symbols.resize(count);
}

/// A queue of merges over a linked list: n log n for pieces of any length.
void Bpe::merge_long(std::vector<std::int32_t>& symbols) const {
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t at;
    std::int32_t first;
    std::int32_t second;
    std::int32_t id;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  TB_CHECK(symbols.size() < kEnd);
  const std::uint32_t count = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> next(count);
  std::vector<std::uint32_t> previous(count);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](std::uint32_t at) {
    const std::int32_t first = symbols[at];
    const std::int32_t second = symbols[next[at]];
    if (const MergeTable::Merge* merge = merges_.find(first, second)) {
      queue.push(
          {.rank = merge->rank, .at = at, .first = first, .second = second, .id = merge->id});
    }
  };
  for (std::uint32_t at = 0; at < count; ++at) {
    next[at] = at + 1 < count ? at + 1 : kEnd;
    previous[at] = at > 0 ? at - 1 : kEnd;
  }
  for (std::uint32_t at = 0; at + 1 < count; ++at) {
    offer(at);
  }
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    // A symbol that went into another one holds kNone, so an outdated candidate does not match.
    const std::uint32_t right = next[top.at];
    if (right == kEnd || symbols[top.at] != top.first || symbols[right] != top.second) {
      continue;
    }
    symbols[top.at] = top.id;
    symbols[right] = kNone;
    next[top.at] = next[right];
    if (next[right] != kEnd) {
      previous[next[right]] = top.at;
      offer(top.at);
    }
    if (previous[top.at] != kEnd) {
      offer(previous[top.at]);
    }
  }
  std::erase(symbols, kNone);
}

}  // namespace tunebench::data
