#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {

const std::vector<SearchParameter>& search_parameters() {
  static const std::vector<SearchParameter> kParameters{
      {"seed", "integer", 0, "of all that is drawn; default 1"},
      {"grouping", "inputs", 0, "inputs that are expensive to change: they change least often"},
      {"first", "points", 0, "points that are measured first: a list of mappings of inputs"},
      {"startup", "integer", 1, "points before the model decides; default: from the space"},
      {"block", "integer", 1, "points of a Latin hypercube; default: four times the dimensions"},
      {"extra_repeats", "boolean", 0, "a measured point may be chosen again"},
      {"min_steps", "integer", 1, "steps of the first rung"},
      {"max_steps", "integer", 1, "steps of the last rung"},
      {"eta", "integer", 2, "one of so many points reaches the next rung; default 3"},
      {"reference", "numbers", 0, "with several objectives: where hypervolume is measured from"},
      {"mode",
       "word",
       0,
       "order of the walk",
       {"random", "sequential", "randomgrouped", "sequentialgrouped"}},
      {"filter",
       "word",
       0,
       "which points are visited",
       {"all", "measured", "unmeasured", "partial"}},
  };
  return kParameters;
}

const std::vector<SearchMethod>& search_methods() {
  static const std::vector<SearchMethod> kMethods{
      {"grid", "every point, the last input fastest", {}},
      {"random", "a seeded shuffle", {"seed"}},
      {"grouped", "every point, the grouping inputs slowest", {"grouping"}},
      {"random_grouped", "the same, groups shuffled", {"seed", "grouping"}},
      {"lhs", "Latin hypercube", {"seed", "block"}},
      {"sobol", "low-discrepancy sequence with a seeded shift", {"seed"}},
      {"tpe",
       "tree-structured Parzen estimator",
       {"seed", "startup", "first", "extra_repeats", "reference"}},
      {"gp",
       "Gaussian process with expected improvement",
       {"seed", "startup", "first", "extra_repeats", "reference"}},
      {"halving",
       "successive halving: many points for few steps, the better ones for more",
       {"seed", "min_steps", "max_steps", "eta"}},
      {"random_walk", "the walk of the reference system", {"seed", "mode", "grouping", "filter"}},
  };
  return kMethods;
}

}  // namespace tunebench::plans
