#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/data/piece_cache.h"
#include "tunebench/data/vocabulary.h"

namespace tunebench::data {

/// Parts of each merge in order of rank.
using MergeList = std::vector<std::pair<std::string_view, std::string_view>>;

/// What a BPE file states besides its two tables.
struct BpeOptions {
  std::optional<std::int32_t> unknown;  ///< id for characters that are not in the vocabulary
  std::string continuing_prefix;        ///< before every symbol of a piece but the first
  std::string end_suffix;               ///< after the last symbol of a piece
  bool fuse_unknown = false;            ///< neighbouring unknown characters give one id
  bool byte_fallback = false;           ///< unknown characters become <0xNN> pieces
  bool ignore_merges = false;           ///< a piece that is in the vocabulary is taken whole
};

/// (first id, second id) -> rank and the id they become.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = 0;
    std::int32_t id = 0;
  };
  explicit MergeTable(std::size_t count);
  /// A pair given again takes the later rank.
  void insert(std::int32_t first, std::int32_t second, Merge merge);
  [[nodiscard]] const Merge* find(std::int32_t first, std::int32_t second) const {
    const std::uint64_t key = make_key(first, second);
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (keys_[slot] == key) {
        return &merges_[slot];
      }
      if (keys_[slot] == kFree) {
        return nullptr;
      }
    }
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static std::uint64_t make_key(std::int32_t first, std::int32_t second) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32U) |
           static_cast<std::uint32_t>(second);
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    return ((key * 0x9E3779B97F4A7C15U) >> 32U) & mask_;
  }
  std::size_t mask_;
  std::vector<std::uint64_t> keys_;
  std::vector<Merge> merges_;
};

/// Byte-pair encoding of one piece. Thread-safe.
/// Source: Sennrich et al. 2016, "Neural machine translation of rare words with subword units".
class Bpe {
 public:
  /// Errors: InvalidInput naming a part or a result that is not in the
  /// vocabulary.
  Bpe(Vocabulary vocabulary, const MergeList& merges, BpeOptions options);

  /// Pieces hold bytes instead of byte letters from now on. Returns false, and changes nothing,
  /// when the vocabulary lacks a byte that UTF-8 uses.
  bool take_bytes();

  /// Appends the ids of `piece`; may leave out the last of them once `ids` holds `enough`.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids, std::size_t enough) const;

 private:
  void find_joints(const MergeList& merges);
  [[nodiscard]] bool may_join(char32_t left, char32_t right) const;
  void encode_parts(std::string_view piece, std::vector<std::int32_t>& ids,
                    std::size_t enough) const;
  void encode_word(std::string_view piece, std::vector<std::int32_t>& ids) const;
  [[nodiscard]] std::size_t next_cut(std::string_view piece, std::size_t from) const;
  [[nodiscard]] bool may_cut(std::string_view piece) const;
  void append_symbols(std::string_view piece, std::vector<std::int32_t>& symbols) const;
  bool append_byte_pieces(std::string_view symbol, std::vector<std::int32_t>& symbols) const;
  void merge_short(std::vector<std::int32_t>& symbols) const;
  void merge_long(std::vector<std::int32_t>& symbols) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  MergeTable merges_;
  bool bytes_ = false;                        ///< pieces hold bytes
  std::array<std::int32_t, 256> byte_ids_{};  ///< with bytes_
  std::array<std::int32_t, 256> fallback_{};  ///< ids of <0x00>..<0xFF>, or -1
  std::array<std::int32_t, 128> ascii_{};     ///< ids of ASCII characters, or -1
  bool all_fallback_ = false;                 ///< every byte has its <0xNN>
  /// Neighbouring characters that some merge may join. Between any other two a piece can be cut
  /// without changing its ids.
  bool joints_known_ = false;
  std::vector<bool> joints_;
  mutable PieceCache cache_;
};

}  // namespace tunebench::data
