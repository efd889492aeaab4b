#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tunebench/search/internal/axes.h"

namespace tunebench::search {

using Coordinates = std::vector<std::size_t>;

/// What a Gaussian process expects at one point.
struct Prediction {
  double mean = 0;
  double deviation = 0;
};

/// Gaussian process over points of a finite space: Matern 5/2 with a length for each dimension,
/// names equally far from each other. Lengths and noise are those of the highest posterior density
/// (marginal likelihood times wide priors around half the range and a noise of 3 % of the
/// deviation), found by iRprop- from two fixed starts; mean and size of the values are taken out.
/// Deterministic. Source: Rasmussen and Williams 2006, chapters 2, 4.2 and 5.4; Igel and Huesken
/// 2003 for the descent.
class GaussianProcess {
 public:
  /// At least one point; finite values.
  GaussianProcess(const std::vector<Axis>& axes, std::vector<Coordinates> points,
                  std::span<const double> values);

  /// Of the value without noise, in the units of the values.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const Coordinates> points) const;

  [[nodiscard]] const std::vector<double>& lengths() const { return lengths_; }
  /// Variance of the noise over that of the function.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  void predict_block(std::span<const Coordinates> points, Prediction* out) const;

  std::vector<Axis> axes_;
  std::vector<Coordinates> points_;
  std::vector<double> lengths_;
  double noise_ = 0;
  double mean_ = 0;
  double scale_ = 1;             ///< deviation of the values
  double variance_ = 1;          ///< of the function, in units of scale^2
  std::vector<double> factor_;   ///< upper triangular U with U'U = correlation + noise, row by row
  std::vector<double> weights_;  ///< inverse of that matrix times the standardised values
};

}  // namespace tunebench::search
