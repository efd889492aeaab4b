#include "tunebench/search/searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/search/internal/model_searcher.h"
#include "tunebench/search/internal/order_searcher.h"
#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/internal/successive_halving.h"
#include "tunebench/search/internal/surrogate.h"

namespace tunebench::search {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 10> kMethods = {{
    {Method::Grid, "grid"},
    {Method::Random, "random"},
    {Method::Interleaved, "interleaved"},
    {Method::Grouped, "grouped"},
    {Method::RandomGrouped, "random_grouped"},
    {Method::LatinHypercube, "latin_hypercube"},
    {Method::Sobol, "sobol"},
    {Method::Tpe, "tpe"},
    {Method::GaussianProcess, "gaussian_process"},
    {Method::SuccessiveHalving, "successive_halving"},
}};
constexpr std::size_t kMostObjectives = 3;

bool decides_by_results(Method method) {
  return method == Method::Tpe || method == Method::GaussianProcess ||
         method == Method::SuccessiveHalving;
}
bool is_grouped(Method method) {
  return method == Method::Grouped || method == Method::RandomGrouped;
}

void check_grouping(const SearchConfig& config, const FiniteSpace& space, Diagnostics& problems) {
  if (!is_grouped(config.method)) {
    return;
  }
  if (config.grouping.empty()) {
    problems.push_back({{},
                        fmt::format("method {} needs grouping: the names of the inputs to keep "
                                    "together",
                                    method_name(config.method)),
                        {}});
  }
  std::vector<std::string> names;
  for (const Dimension& dimension : space.dimensions()) {
    names.push_back(dimension.name);
  }
  for (const std::string& name : config.grouping) {
    if (std::ranges::find(names, name) == names.end()) {
      problems.push_back({{},
                          fmt::format("'{}' in grouping is no dimension", printable(name)),
                          did_you_mean(name, names)});
    }
  }
}

void check_objectives(const SearchConfig& config, Diagnostics& problems) {
  const std::size_t count = config.directions.size();
  if (decides_by_results(config.method) && (count < 1 || count > kMostObjectives)) {
    problems.push_back({{},
                        fmt::format("method {} takes one to three objectives, not {}",
                                    method_name(config.method), count),
                        {}});
  }
  if (!config.reference.empty() && config.reference.size() != count) {
    problems.push_back({{},
                        fmt::format("the reference has {} numbers for {} objectives",
                                    config.reference.size(), count),
                        {}});
  }
  if (!std::ranges::all_of(config.reference, [](double value) { return std::isfinite(value); })) {
    problems.push_back({{}, "the reference has a number that is not finite", {}});
  }
}

void check_budgets(const SearchConfig& config, Diagnostics& problems) {
  if (config.method != Method::SuccessiveHalving) {
    return;
  }
  if (config.min_budget < 1 || config.max_budget < config.min_budget) {
    problems.push_back({{},
                        fmt::format("successive_halving needs 1 <= min_budget <= max_budget steps, "
                                    "not {} and {}",
                                    config.min_budget, config.max_budget),
                        {}});
  }
  if (config.eta < 2) {
    problems.push_back({{}, fmt::format("eta must be at least 2, not {}", config.eta), {}});
  }
}

void check_first(const SearchConfig& config, const FiniteSpace& space, Diagnostics& problems) {
  for (const Point point : config.first) {
    if (point >= space.size()) {
      problems.push_back(
          {{}, fmt::format("the first points name point {} of {}", point, space.size()), {}});
    } else if (!space.allowed(point)) {
      problems.push_back(
          {{}, fmt::format("the rules forbid point {} of the first points", point), {}});
    }
  }
}

/// Begins with given points.
class FirstPoints final : public Searcher {
 public:
  FirstPoints(const SearchConfig& config, std::unique_ptr<Searcher> then)
      : points_(config.first),
        budget_(config.method == Method::SuccessiveHalving ? config.min_budget : 0),
        then_(std::move(then)) {}

  [[nodiscard]] std::optional<Choice> next(std::span<const Observation> history,
                                           std::span<const Pending> pending) const override {
    const PointSet taken = taken_points(history, pending);
    for (const Point point : points_) {
      if (!taken.contains(point)) {
        return Choice{.point = point, .budget = budget_, .why = "given", .repeats_replaced = 0};
      }
    }
    return then_->next(history, pending);
  }

 private:
  std::vector<Point> points_;
  std::int64_t budget_;
  std::unique_ptr<Searcher> then_;
};

std::unique_ptr<Searcher> make_plain(const SearchConfig& config, const FiniteSpace& space,
                                     std::uint64_t seed) {
  switch (config.method) {
    case Method::Tpe:
      return make_model_searcher(config, space, seed, make_tpe());
    case Method::GaussianProcess:
      return make_model_searcher(config, space, seed, make_expected_improvement());
    case Method::SuccessiveHalving:
      return make_successive_halving(config, space, seed);
    default:
      return make_order_searcher(config, make_sequence(config, space, seed));
  }
}

}  // namespace

std::string_view method_name(Method method) {
  const auto* const found =
      std::ranges::find(kMethods, method, &std::pair<Method, std::string_view>::first);
  TB_CHECK(found != kMethods.end());
  return found->second;
}

std::optional<Method> find_method(std::string_view name) {
  std::string wanted = lower_ascii(name);
  std::ranges::replace(wanted, '-', '_');
  for (const auto& [method, known] : kMethods) {
    if (known == wanted) {
      return method;
    }
  }
  return std::nullopt;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& [method, name] : kMethods) {
    names.emplace_back(name);
  }
  return names;
}

Diagnostics check(const SearchConfig& config, const FiniteSpace& space) {
  Diagnostics problems;
  check_objectives(config, problems);
  check_grouping(config, space, problems);
  check_budgets(config, problems);
  check_first(config, space, problems);
  if (config.repeats < 1) {
    problems.push_back({{}, fmt::format("repeats must be at least 1, not {}", config.repeats), {}});
  }
  return problems;
}

std::unique_ptr<Searcher> make_searcher(const SearchConfig& config, const FiniteSpace& space,
                                        std::uint64_t seed) {
  if (const Diagnostics problems = check(config, space); !problems.empty()) {
    std::vector<std::string> lines;
    for (const Diagnostic& problem : problems) {
      lines.push_back(problem.line());
    }
    throw Error(ErrorCode::InvalidInput, join(lines, "\n"));
  }
  std::unique_ptr<Searcher> searcher = make_plain(config, space, seed);
  if (config.first.empty()) {
    return searcher;
  }
  return std::make_unique<FirstPoints>(config, std::move(searcher));
}

}  // namespace tunebench::search
