#include "tunebench/search/space.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kMostPoints = 1'000'000'000'000'000'000;

void check_values(const Dimension& dimension) {
  if (dimension.values.empty()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("'{}' has no values", printable(dimension.name)));
  }
  std::set<std::string> seen;
  for (const Json& value : dimension.values) {
    if (!seen.insert(value.canonical()).second) {
      throw Error(
          ErrorCode::InvalidInput,
          fmt::format("'{}' lists {} twice", printable(dimension.name), excerpt(value.dump())));
    }
  }
}

}  // namespace

FiniteSpace::FiniteSpace(std::vector<Dimension> dimensions, Rule rule)
    : dimensions_(std::move(dimensions)), rule_(std::move(rule)) {
  std::set<std::string> names;
  for (const Dimension& dimension : dimensions_) {
    check_values(dimension);
    if (!names.insert(dimension.name).second) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("two dimensions are named '{}'", printable(dimension.name)));
    }
    const std::uint64_t count = dimension.values.size();
    if (size_ > kMostPoints / count) {
      throw Error(ErrorCode::InvalidInput,
                  "the space has more than 10^18 points; list fewer values");
    }
    size_ *= count;
  }
}

std::vector<std::size_t> FiniteSpace::coordinates(Point point) const {
  TB_CHECK(point < size_);
  std::vector<std::size_t> coordinates(dimensions_.size());
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    const std::uint64_t count = dimensions_[i].values.size();
    coordinates[i] = point % count;
    point /= count;
  }
  return coordinates;
}

Point FiniteSpace::point(std::span<const std::size_t> coordinates) const {
  TB_CHECK(coordinates.size() == dimensions_.size());
  Point point = 0;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    TB_CHECK(coordinates[i] < dimensions_[i].values.size());
    point = point * dimensions_[i].values.size() + coordinates[i];
  }
  return point;
}

bool FiniteSpace::allowed(Point point) const {
  TB_CHECK(point < size_);
  return !rule_ || rule_(coordinates(point));
}

}  // namespace tunebench::search
