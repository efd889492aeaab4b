#include "tunebench/search/internal/order_searcher.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/search/internal/low_discrepancy.h"
#include "tunebench/search/internal/orders.h"
#include "tunebench/search/internal/outcomes.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kWithoutEnd = std::uint64_t{1} << 48U;

class OrderSearcher final : public Searcher {
 public:
  OrderSearcher(const SearchConfig& config, std::unique_ptr<Sequence> sequence,
                std::optional<std::uint64_t> most)
      : config_(config), sequence_(std::move(sequence)), most_(most) {}

  [[nodiscard]] std::optional<Choice> next(std::span<const Observation> history,
                                           std::span<const Pending> pending) const override {
    std::unordered_map<Point, std::int64_t> times;
    for (const Observation& observation : history) {
      std::int64_t& count = times[observation.point];
      count = observation.valid ? count + 1 : config_.repeats;
    }
    for (const Pending& one : pending) {
      ++times[one.point];
    }
    const bool in_rounds = config_.method == Method::Interleaved;
    for (std::int64_t round = in_rounds ? 1 : config_.repeats; round <= config_.repeats; ++round) {
      PointSet done;
      for (const auto& [point, count] : times) {
        if (count >= round) {
          done.insert(point);
        }
      }
      const std::optional<Point> point = sequence_->first_not_in(done);
      if (point && (times.contains(*point) || !most_ || times.size() < *most_)) {
        return Choice{.point = *point,
                      .budget = 0,
                      .why = std::string(method_name(config_.method)),
                      .repeats_replaced = 0};
      }
    }
    return std::nullopt;
  }

 private:
  SearchConfig config_;
  std::unique_ptr<Sequence> sequence_;
  std::optional<std::uint64_t> most_;
};

}  // namespace

std::unique_ptr<Sequence> make_sequence(const SearchConfig& config, const FiniteSpace& space,
                                        std::uint64_t seed) {
  const auto once = [&space](Sequence::Order order) {
    return std::make_unique<Sequence>(space, std::move(order), space.size());
  };
  // A sampler may meet a point again; when it brings nothing new, the others come shuffled.
  const auto sampled = [&space, seed](Sequence::Order order) {
    return std::make_unique<Sequence>(space, std::move(order), kWithoutEnd,
                                      random_order(space, seed));
  };
  switch (config.method) {
    case Method::Grid:
    case Method::Interleaved:
      return once(grid_order());
    case Method::Grouped:
      return once(grouped_order(space, config.grouping));
    case Method::RandomGrouped:
      return once(random_grouped_order(space, config.grouping, seed));
    case Method::LatinHypercube:
      return sampled(
          hypercube_order(space, config.block > 0 ? config.block : default_block(space), seed));
    case Method::Sobol:
      return sampled(sobol_order(space, seed));
    case Method::Random:
    case Method::SuccessiveHalving:
      return once(random_order(space, seed));
    case Method::Tpe:
    case Method::GaussianProcess:
      return sampled(hypercube_order(space, config.startup, seed));
  }
  throw Error(ErrorCode::Internal, "method without an order");
}

std::unique_ptr<Searcher> make_order_searcher(const SearchConfig& config,
                                              std::unique_ptr<Sequence> sequence,
                                              std::optional<std::uint64_t> most) {
  return std::make_unique<OrderSearcher>(config, std::move(sequence), most);
}

}  // namespace tunebench::search
