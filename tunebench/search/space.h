#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::search {

/// Number of a point in its space: mixed radix over the dimensions, the last one fastest.
using Point = std::uint64_t;

/// One input and the values it may take.
struct Dimension {
  std::string name;
  std::vector<Json> values;
};

/// All combinations of the dimensions' values, never written out, and the rule that says which of
/// them may be measured. Threads: const use from several, when the rule allows it.
class FiniteSpace {
 public:
  /// Gets one coordinate per dimension: the index into its values.
  using Rule = std::function<bool(std::span<const std::size_t> coordinates)>;

  /// Without dimensions the space is one point. Errors: InvalidInput for a dimension without
  /// values, a value listed twice, a name used twice, or more than 10^18 points.
  explicit FiniteSpace(std::vector<Dimension> dimensions, Rule rule = {});

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// Of all points, allowed or not; at least 1.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool has_rule() const { return static_cast<bool>(rule_); }

  /// Errors of these: Internal for a point or coordinate outside of the space.
  [[nodiscard]] std::vector<std::size_t> coordinates(Point point) const;
  [[nodiscard]] Point point(std::span<const std::size_t> coordinates) const;
  [[nodiscard]] bool allowed(Point point) const;

 private:
  std::vector<Dimension> dimensions_;
  Rule rule_;
  std::uint64_t size_ = 1;
};

}  // namespace tunebench::search
