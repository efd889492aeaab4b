#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/search/history.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

enum class Method {
  Grid,               ///< last dimension fastest
  Random,             ///< a seeded shuffle
  Interleaved,        ///< grid order, all points once before any comes again
  Grouped,            ///< the grouping dimensions slowest
  RandomGrouped,      ///< the same, groups shuffled
  LatinHypercube,     ///< blocks in which each value of a dimension comes equally often
  Sobol,              ///< low-discrepancy sequence with a seeded shift
  Tpe,                ///< tree-structured Parzen estimator
  GaussianProcess,    ///< expected (hypervolume) improvement
  SuccessiveHalving,  ///< many points for few steps, the better ones for more
};
std::string_view method_name(Method method);  ///< "latin_hypercube"
/// By name, case and - against _ do not count. nullopt for an unknown one.
std::optional<Method> find_method(std::string_view name);
/// All names, for help texts and did_you_mean.
std::vector<std::string> method_names();

/// What a search looks for, and how. The defaults of 0 mean "chosen from the space".
struct SearchConfig {
  Method method = Method::Random;
  /// One per objective, at most three. Orders and samplers need none.
  std::vector<Direction> directions = {Direction::Maximize};
  /// Grid, Random, Interleaved, Grouped, RandomGrouped: how often a point is measured; back to back
  /// but for Interleaved. A point that failed is not measured again.
  std::int64_t repeats = 1;
  /// Grouped, RandomGrouped: names of the dimensions that are expensive to change, as the model.
  std::vector<std::string> grouping = {};
  /// Measured first, in this order, as ado's points_to_evaluate; must be allowed.
  std::vector<Point> first = {};
  /// Tpe, GaussianProcess: this many points before the model decides.
  std::size_t startup = 0;
  /// LatinHypercube: points of a block; 0: four times the number of dimensions with a choice.
  std::size_t block = 0;
  /// Tpe, GaussianProcess: a measured point may be chosen again when the method likes it best.
  bool extra_repeats = false;
  /// SuccessiveHalving: training steps of the first rung and of the last, and the factor between
  /// rungs; one of `eta` points reaches the next rung.
  std::int64_t min_budget = 0;
  std::int64_t max_budget = 0;
  std::int64_t eta = 3;
  /// Two or three objectives: the point that hypervolume is measured from, in the objectives' own
  /// units. Empty: a tenth of the observed range beyond the worst observed values.
  std::vector<double> reference = {};
};

/// Everything wrong with `config` for that space. Empty: make_searcher takes it.
Diagnostics check(const SearchConfig& config, const FiniteSpace& space);

/// Says which point comes next. The answer depends on configuration, seed and arguments alone, so
/// a search that was interrupted goes on as if it had not been: its state is its history.
/// Threads: next() may be called from several; calls wait for each other where something computed
/// once is kept.
class Searcher {
 public:
  virtual ~Searcher() = default;

  /// `history`: what was measured, in that order; `pending`: what is being measured. nullopt when
  /// no allowed point is left, or none before something pending is known.
  /// Errors: InvalidInput when a rule forbids the first 10 million points looked at; Internal for a
  /// point outside of the space or an observation with too few objectives.
  [[nodiscard]] virtual std::optional<Choice> next(std::span<const Observation> history,
                                                   std::span<const Pending> pending = {}) const = 0;
};

/// `space` must live as long as the searcher. Errors: InvalidInput with all lines of check().
std::unique_ptr<Searcher> make_searcher(const SearchConfig& config, const FiniteSpace& space,
                                        std::uint64_t seed);

}  // namespace tunebench::search
