#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/expression/expression.h"

namespace tunebench::space {

/// The values that one input takes.
struct Dimension {
  std::string property;
  std::vector<Json> values;  ///< at least two
};

/// An experiment with all the inputs that are no dimensions.
struct Variant {
  std::string experiment;
  experiment::Inputs inputs;
  std::vector<std::string> own;  ///< inputs in which variants differ, for titles
};

/// A condition that points must keep: docs/expressions.md over all inputs and `experiment`.
struct Rule {
  std::shared_ptr<const expression::Expression> condition;
  std::string where;  ///< "plan.yaml:9:5", "--where"
  [[nodiscard]] const std::string& text() const { return condition->text(); }
};

/// Which value of each dimension, and last which variant.
using Digits = std::vector<std::size_t>;

/// A product of values that is never built: points are made when they are asked for. The last
/// dimension varies fastest, and the variants faster than that: all experiments of a point follow
/// each other. Not thread-safe, for the rules' sake.
class Space {
 public:
  Space(std::vector<Dimension> dimensions, std::vector<Variant> variants, std::vector<Rule> rules);

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] const std::vector<Variant>& variants() const { return variants_; }
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }

  /// Points, those that rules exclude included; nullopt above 2^64 - 1.
  [[nodiscard]] std::optional<std::uint64_t> size() const;
  /// The same as a double, which always is one.
  [[nodiscard]] double approximate_size() const;
  /// How many values a digit has; the last one is that of the variants.
  [[nodiscard]] std::size_t choices(std::size_t digit) const;
  [[nodiscard]] std::size_t digits() const { return dimensions_.size() + 1; }

  /// index < size().
  [[nodiscard]] Digits digits_of(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t index_of(const Digits& digits) const;
  [[nodiscard]] experiment::Point point(const Digits& digits) const;
  [[nodiscard]] experiment::Point point(std::uint64_t index) const {
    return point(digits_of(index));
  }

  /// Whether the point keeps that rule. Errors: those of Expression::holds, with its place.
  [[nodiscard]] bool keeps(std::size_t rule, const Digits& digits) const;
  /// The first rule that excludes the point; nullopt: none does.
  [[nodiscard]] std::optional<std::size_t> excluded_by(const Digits& digits) const;
  /// The digits that a rule looks at, ascending.
  [[nodiscard]] const std::vector<std::size_t>& looks_at(std::size_t rule) const {
    return bound_[rule].digits;
  }

 private:
  /// A rule tied to digits: where each of its names comes from.
  struct Bound {
    std::vector<std::size_t> digits;         ///< that it looks at
    std::vector<std::size_t> sources;        ///< per name: a dimension, or dimensions_.size()
    mutable std::vector<Json> values;        ///< of the names, as last looked at
    mutable std::vector<std::size_t> shown;  ///< the digit that each value belongs to
  };
  [[nodiscard]] Bound bind(const Rule& rule) const;
  [[nodiscard]] Json value_of(const std::string& name, std::size_t source,
                              std::size_t choice) const;

  std::vector<Dimension> dimensions_;
  std::vector<Variant> variants_;
  std::vector<Rule> rules_;
  std::vector<Bound> bound_;
};

/// Goes over the points that all rules keep, in order, leaving out whole parts of the space at once
/// where a rule excludes them by its slowest digits.
class Walk {
 public:
  explicit Walk(const Space& space);
  /// The next kept point; false at the end, or when `most_looks` rules were looked at (gave_up).
  bool next();
  [[nodiscard]] const Digits& digits() const { return digits_; }
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  void set_most_looks(std::uint64_t most) { most_looks_ = most; }

 private:
  bool advance(std::size_t digit);
  const Space& space_;
  std::vector<std::vector<std::size_t>> rules_by_digit_;  ///< by the last digit they look at
  Digits digits_;
  std::size_t changed_ = 0;  ///< digits from here on differ from the last look
  bool started_ = false;
  bool gave_up_ = false;
  std::uint64_t looks_ = 0;
  std::uint64_t most_looks_ = UINT64_MAX;
};

/// How many points rules leave and how many each excludes.
struct RuleCount {
  bool exact = true;  ///< false: from a sample, told as "about"
  double kept = 0;
  std::optional<std::uint64_t> kept_exactly = {};  ///< when exact and below 2^64
  std::vector<double> excluded = {};  ///< by each rule; a point that two exclude counts for both
};
struct CountBudget {
  std::uint64_t looks = 1'200'000;  ///< points of one group of connected dimensions
  std::uint64_t sample = 20'000;
  std::uint64_t seed = 1;
};
/// Dimensions that no rule connects are counted apart and multiplied: exact while each group of
/// connected ones has at most `looks` points, else estimated from a seeded sample.
RuleCount count_kept(const Space& space, const CountBudget& budget = {});

/// A rule as it was written.
struct RuleText {
  std::string text;
  std::string where;
  /// Places a mistake at a byte of the text; empty: `where` and the column.
  std::function<Diagnostic(const expression::Mistake&)> place = {};
};

/// The rules as conditions over all inputs and `experiment`; mistakes are told.
std::vector<Rule> compile_rules(const std::vector<RuleText>& rules, Diagnostics& problems);

/// One experiment over the space, with inputs of its own.
struct ExperimentChoice {
  const experiment::Experiment* experiment = nullptr;
  std::vector<experiment::GivenValues> given = {};
};

/// What a space is made of.
struct SpaceRequest {
  std::vector<experiment::GivenValues> given;  ///< of all experiments
  std::vector<ExperimentChoice> experiments;   ///< at least one
  std::vector<RuleText> rules = {};
};
/// Every mistake is told; nullopt with one. An input that is given for the space and for an
/// experiment is refused; the same experiment twice with the same inputs counts once.
std::optional<Space> make_space(const SpaceRequest& request, Diagnostics& problems);

/// "1,000" or "about 1.2e+09".
std::string count_text(double count, bool exact);

}  // namespace tunebench::space
