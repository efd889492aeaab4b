#pragma once

#include <string>
#include <vector>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// Which run may measure which key. Members do what those of Store do.
class ClaimTable {
 public:
  explicit ClaimTable(Connection& connection) : connection_(connection) {}

  Claim claim(const std::string& run, const std::string& key);
  void release(const std::string& run, const std::string& key);
  [[nodiscard]] std::vector<std::string> of(const std::string& run) const;

 private:
  /// Who else holds the key, alive and within its lease.
  [[nodiscard]] Claim holder(const std::string& run, const std::string& key) const;

  Connection& connection_;
};

}  // namespace tunebench::store
