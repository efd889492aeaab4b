#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::data {

/// Token text -> id. All texts lie in one buffer, so that a vocabulary of 150,000 tokens is made
/// and searched without as many allocations.
class Vocabulary {
 public:
  explicit Vocabulary(std::size_t expected = 0);

  /// Does nothing when the token is already there.
  void insert(std::string_view token, std::int32_t id);
  [[nodiscard]] std::optional<std::int32_t> find(std::string_view token) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::string_view token(std::size_t index) const;
  [[nodiscard]] std::int32_t id(std::size_t index) const { return entries_[index].id; }

 private:
  struct Entry {
    std::size_t hash = 0;
    std::size_t begin = 0;
    std::uint32_t length = 0;
    std::int32_t id = 0;
  };
  /// The slot that holds the token or would hold it.
  [[nodiscard]] std::size_t slot_of(std::string_view token, std::size_t hash) const;
  void grow();

  std::string texts_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< index into entries_ + 1; 0: free
};

}  // namespace tunebench::data
