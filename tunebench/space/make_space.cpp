#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/space/space.h"

namespace tunebench::space {
namespace {

/// More experiments with inputs of their own than this are a slip of the hand.
constexpr std::size_t kMostVariants = 10'000;

std::string canonical(const Variant& variant) {
  Json inputs = Json::object();
  for (const auto& [name, value] : variant.inputs) {
    inputs.set(name, value);
  }
  return variant.experiment + inputs.canonical();
}

class SpaceMaker {
 public:
  SpaceMaker(const SpaceRequest& request, Diagnostics& problems)
      : request_(request), problems_(problems) {}

  std::optional<Space> make() {
    const std::size_t before = problems_.size();
    for (const experiment::GivenValues& given : request_.given) {
      shared_.insert(given.property);
    }
    for (const ExperimentChoice& choice : request_.experiments) {
      add_experiment(choice);
    }
    std::vector<Rule> rules = compile_rules(request_.rules, problems_);
    if (problems_.size() > before || variants_.empty()) {
      return std::nullopt;
    }
    name_own_inputs();
    return Space(std::move(dimensions_), std::move(variants_), std::move(rules));
  }

 private:
  void add_experiment(const ExperimentChoice& choice) {
    std::vector<experiment::GivenValues> given = request_.given;
    bool clash = false;
    for (const experiment::GivenValues& own : choice.given) {
      if (shared_.contains(own.property)) {
        problems_.push_back({own.where,
                             fmt::format("{} is an input of the space and of {}", own.property,
                                         choice.experiment->id),
                             "give it in one place"});
        clash = true;
      } else {
        given.push_back(own);
      }
    }
    Diagnostics found;
    std::optional<experiment::Grid> grid = experiment::make_grid(*choice.experiment, given, found);
    for (const Diagnostic& problem : found) {
      // The same mistake in what experiments share is one mistake.
      if (told_.insert(problem.line()).second) {
        problems_.push_back(problem);
      }
    }
    if (grid && !clash) {
      add_variants(choice, *grid);
    }
  }

  void add_variants(const ExperimentChoice& choice, const experiment::Grid& grid) {
    std::vector<Variant> made{{choice.experiment->id, grid.base, {}}};
    const bool first = dimensions_.empty() && variants_.empty();
    for (const experiment::GivenValues& given : grid.dimensions) {
      const bool shared = shared_.contains(given.property);
      if (shared && given.values.size() > 1) {
        if (first) {
          dimensions_.push_back({given.property, given.values});
        }
        continue;
      }
      if (made.size() * given.values.size() + variants_.size() > kMostVariants) {
        problems_.push_back({given.where,
                             fmt::format("{} has more than {} combinations of inputs of its own",
                                         choice.experiment->id, kMostVariants),
                             "give them as inputs of the space"});
        return;
      }
      std::vector<Variant> longer;
      for (const Variant& variant : made) {
        for (const Json& value : given.values) {
          longer.push_back(variant);
          longer.back().inputs[given.property] = value;
        }
      }
      made = std::move(longer);
    }
    for (Variant& variant : made) {
      if (seen_.insert(canonical(variant)).second) {
        variants_.push_back(std::move(variant));
      }
    }
  }

  void name_own_inputs() {
    std::vector<std::string> own;
    for (const auto& [name, value] : variants_.front().inputs) {
      const std::string& key = name;
      const Json& first = value;
      if (std::ranges::any_of(
              variants_, [&](const Variant& variant) { return variant.inputs.at(key) != first; })) {
        own.push_back(name);
      }
    }
    for (Variant& variant : variants_) {
      variant.own = own;
    }
  }

  const SpaceRequest& request_;
  Diagnostics& problems_;
  std::set<std::string> shared_;
  std::set<std::string> told_;
  std::set<std::string> seen_;
  std::vector<Dimension> dimensions_;
  std::vector<Variant> variants_;
};

}  // namespace

std::vector<Rule> compile_rules(const std::vector<RuleText>& texts, Diagnostics& problems) {
  std::vector<std::string> names = experiment::property_names();
  names.emplace_back("experiment");
  std::vector<Rule> rules;
  for (const RuleText& rule : texts) {
    std::vector<expression::Mistake> mistakes;
    std::optional<expression::Expression> condition =
        expression::Expression::compile(rule.text, names, mistakes);
    for (const expression::Mistake& mistake : mistakes) {
      problems.push_back(
          rule.place ? rule.place(mistake)
                     : Diagnostic{rule.where,
                                  fmt::format("{} at {}", mistake.text,
                                              expression::place_in(rule.text, mistake.offset)),
                                  mistake.hint});
    }
    if (condition) {
      rules.push_back(
          {std::make_shared<const expression::Expression>(std::move(*condition)), rule.where});
    }
  }
  return rules;
}

std::optional<Space> make_space(const SpaceRequest& request, Diagnostics& problems) {
  return SpaceMaker(request, problems).make();
}

}  // namespace tunebench::space
