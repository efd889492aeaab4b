#include "tunebench/search/internal/orders.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/search/internal/permutation.h"
#include "tunebench/search/internal/streams.h"

namespace tunebench::search {
namespace {

/// The dimensions with the grouping ones in front, all else in the space's order.
struct Layout {
  std::vector<std::size_t> dimensions;
  std::uint64_t groups = 1;
};

Layout layout_of(const FiniteSpace& space, std::span<const std::string> grouping) {
  std::vector<std::string> names;
  for (const Dimension& dimension : space.dimensions()) {
    names.push_back(dimension.name);
  }
  for (const std::string& name : grouping) {
    if (std::ranges::find(names, name) == names.end()) {
      throw Error(ErrorCode::InvalidInput,
                  Diagnostic{{},
                             fmt::format("'{}' in grouping is no dimension", printable(name)),
                             did_you_mean(name, names)}
                      .line());
    }
  }
  Layout layout;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((std::ranges::find(grouping, names[i]) != grouping.end()) == wanted) {
        layout.dimensions.push_back(i);
        layout.groups *= wanted ? space.dimensions()[i].values.size() : 1;
      }
    }
  }
  return layout;
}

Point point_at(const FiniteSpace& space, const Layout& layout, std::uint64_t position) {
  std::vector<std::size_t> coordinates(layout.dimensions.size());
  for (std::size_t i = layout.dimensions.size(); i-- > 0;) {
    const std::uint64_t count = space.dimensions()[layout.dimensions[i]].values.size();
    coordinates[layout.dimensions[i]] = position % count;
    position /= count;
  }
  return space.point(coordinates);
}

}  // namespace

Sequence::Order grid_order() {
  return [](std::uint64_t position) { return position; };
}

Sequence::Order random_order(const FiniteSpace& space, std::uint64_t seed) {
  return [shuffle = Permutation(space.size(), seed, stream::kOrder)](std::uint64_t position) {
    return shuffle.at(position);
  };
}

Sequence::Order grouped_order(const FiniteSpace& space, std::span<const std::string> grouping) {
  return [&space, layout = layout_of(space, grouping)](std::uint64_t position) {
    return point_at(space, layout, position);
  };
}

Sequence::Order random_grouped_order(const FiniteSpace& space,
                                     std::span<const std::string> grouping, std::uint64_t seed) {
  const Layout layout = layout_of(space, grouping);
  const std::uint64_t members = space.size() / layout.groups;
  return [&space, layout, members,
          shuffle = Permutation(layout.groups, seed, stream::kGroups)](std::uint64_t position) {
    const std::uint64_t group = shuffle.at(position / members);
    return point_at(space, layout, group * members + position % members);
  };
}

}  // namespace tunebench::search
