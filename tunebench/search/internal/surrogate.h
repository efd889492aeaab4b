#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tunebench/search/internal/axes.h"
#include "tunebench/search/internal/gaussian_process.h"
#include "tunebench/search/internal/outcomes.h"

namespace tunebench::search {

/// What a model learns from.
struct Evidence {
  std::vector<Outcome> outcomes;      ///< one per measured point
  std::vector<Coordinates> measured;  ///< of the outcomes
  std::vector<std::size_t> order;     ///< of the outcomes, best first
  std::vector<Coordinates> pending;   ///< being measured
  std::vector<double> reference;      ///< losses; see reference_losses
};

/// Scores points by what is known: the higher, the sooner to be measured.
class Surrogate {
 public:
  virtual ~Surrogate() = default;
  [[nodiscard]] virtual std::vector<double> score(
      const std::vector<Axis>& axes, const Evidence& evidence,
      std::span<const Coordinates> candidates) const = 0;
};

/// Ratio of two mixtures of kernels, one over the better points and one over the others; failed and
/// pending points are among the others.
/// Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization"; kernels over whole
/// points as in Falkner et al. 2018 (BOHB), of Aitchison and Aitken 1976 for names; several
/// objectives as in Ozaki et al. 2020.
std::unique_ptr<Surrogate> make_tpe();

/// Expected improvement of the best value, or of the hypervolume, under one Gaussian process for
/// each objective. A failed point counts as bad as the worst valid one.
/// Source: Jones et al. 1998; Yang et al. 2019.
std::unique_ptr<Surrogate> make_expected_improvement();

}  // namespace tunebench::search
