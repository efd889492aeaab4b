#include "tunebench/data/piece_cache.h"

#include <functional>
#include <memory>

namespace tunebench::data {

struct PieceCache::Entry {
  std::size_t hash = 0;
  std::string piece;
  std::vector<std::int32_t> ids;
};

PieceCache::PieceCache() : slots_(kSlots) {}

PieceCache::~PieceCache() {
  clear();
}

void PieceCache::clear() {
  for (std::atomic<const Entry*>& slot : slots_) {
    const std::unique_ptr<const Entry> owned(slot.exchange(nullptr));
  }
}

bool PieceCache::find(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const std::size_t hash = std::hash<std::string_view>()(piece);
  for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
    const Entry* entry = slots_[(hash + attempt) % kSlots].load(std::memory_order_acquire);
    if (entry == nullptr) {
      return false;
    }
    if (entry->hash == hash && entry->piece == piece) {
      ids.insert(ids.end(), entry->ids.begin(), entry->ids.end());
      return true;
    }
  }
  return false;
}

void PieceCache::insert(std::string_view piece, const std::int32_t* ids, std::size_t count) {
  const std::size_t hash = std::hash<std::string_view>()(piece);
  for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
    std::atomic<const Entry*>& slot = slots_[(hash + attempt) % kSlots];
    if (slot.load(std::memory_order_relaxed) != nullptr) {
      continue;
    }
    auto entry = std::make_unique<const Entry>(
        Entry{.hash = hash, .piece = std::string(piece), .ids = {ids, ids + count}});
    const Entry* expected = nullptr;
    if (slot.compare_exchange_strong(expected, entry.get(), std::memory_order_release,
                                     std::memory_order_relaxed)) {
      static_cast<void>(entry.release());
      return;
    }
  }
}

}  // namespace tunebench::data
