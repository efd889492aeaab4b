#include "tunebench/search/internal/gaussian_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/search/internal/cholesky.h"

namespace tunebench::search {
namespace {

// Priors of the logarithms: where they are centred and how wide they are.
constexpr double kLengthCentre = -0.7;  // half the range of a dimension
constexpr double kLengthWidth = 1.0;
constexpr double kNoiseCentre = -7.0;  // 3 % of the deviation
constexpr double kNoiseWidth = 1.5;
/// Weight, in observations, of the assumption that the function varies as much as the values.
constexpr double kVarianceWeight = 2;
constexpr std::array<double, 2> kStarts = {-0.7, 0.7};
constexpr int kDescentSteps = 12;
constexpr double kFirstStep = 0.4;
constexpr double kLeastNoise = 1e-7;

struct Matern {
  double value;
  double slope;  ///< minus twice the derivative by the squared distance
};

Matern matern(double squared_distance) {
  const double root = std::sqrt(5 * squared_distance);
  const double decay = std::exp(-root);
  return {(1 + root + root * root / 3) * decay, 5.0 / 3.0 * (1 + root) * decay};
}

/// The density that lengths and noise are chosen by.
class Posterior {
 public:
  Posterior(const std::vector<Axis>& axes, const std::vector<Coordinates>& points,
            std::vector<double> values)
      : n_(points.size()), dimensions_(axes.size()), values_(std::move(values)) {
    squares_.resize(dimensions_ * n_ * n_);
    double* out = squares_.data();
    for (std::size_t d = 0; d < dimensions_; ++d) {
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; j < n_; ++j) {
          const double distance = axes[d].distance(points[i][d], points[j][d]);
          *out++ = distance * distance;
        }
      }
    }
  }

  struct Fit {
    std::vector<double> factor;
    std::vector<double> weights;
    double variance = 1;
  };

  /// Logarithms of the lengths and then of the noise in; minus the log density out, infinite where
  /// the matrix is not positive definite, and its gradient.
  double operator()(const std::vector<double>& logs, std::vector<double>& gradient, Fit& fit) {
    fill(logs);
    fit.factor = matrix_;
    if (!cholesky(fit.factor, n_)) {
      return std::numeric_limits<double>::infinity();
    }
    fit.weights = values_;
    solve_lower(fit.factor, n_, fit.weights.data(), 1);
    solve_upper(fit.factor, n_, fit.weights.data(), 1);
    const double quadratic =
        std::inner_product(values_.begin(), values_.end(), fit.weights.begin(), kVarianceWeight);
    const double freedom = static_cast<double>(n_) + kVarianceWeight;
    fit.variance = quadratic / freedom;
    double density = freedom / 2 * std::log(fit.variance);
    for (std::size_t i = 0; i < n_; ++i) {
      density += std::log(fit.factor[i * n_ + i]);
    }
    density += add_gradient(logs, fit, gradient);
    return density;
  }

 private:
  void fill(const std::vector<double>& logs) {
    distances_.assign(n_ * n_, 0.0);
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double factor = std::exp(-2 * logs[d]);
      const double* squares = squares_.data() + d * n_ * n_;
      for (std::size_t k = 0; k < n_ * n_; ++k) {
        distances_[k] += factor * squares[k];
      }
    }
    matrix_.resize(n_ * n_);
    slopes_.resize(n_ * n_);
    const double noise = std::exp(logs.back()) + kLeastNoise;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i; j < n_; ++j) {
        const Matern at = matern(distances_[i * n_ + j]);
        matrix_[i * n_ + j] = at.value;
        slopes_[i * n_ + j] = at.slope;
      }
      matrix_[i * n_ + i] += noise;
    }
  }

  /// Returns minus the log of the priors.
  double add_gradient(const std::vector<double>& logs, const Fit& fit,
                      std::vector<double>& gradient) {
    inverse_.assign(n_ * n_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      inverse_[i * n_ + i] = 1;
    }
    solve_lower(fit.factor, n_, inverse_.data(), n_);
    solve_upper(fit.factor, n_, inverse_.data(), n_);
    // Derivative by an element of the matrix; an element off the diagonal stands for two.
    double trace = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i; j < n_; ++j) {
        const double by = inverse_[i * n_ + j] - fit.weights[i] * fit.weights[j] / fit.variance;
        trace += i == j ? by : 0.0;
        slopes_[i * n_ + j] *= by;
      }
    }
    double priors = 0;
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double* squares = squares_.data() + d * n_ * n_;
      double sum = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
          sum += slopes_[i * n_ + j] * squares[i * n_ + j];
        }
      }
      const double z = (logs[d] - kLengthCentre) / kLengthWidth;
      gradient[d] = sum * std::exp(-2 * logs[d]) + z / kLengthWidth;
      priors += z * z / 2;
    }
    const double z = (logs.back() - kNoiseCentre) / kNoiseWidth;
    gradient.back() = trace / 2 * std::exp(logs.back()) + z / kNoiseWidth;
    return priors + z * z / 2;
  }

  std::size_t n_;
  std::size_t dimensions_;
  std::vector<double> values_;
  std::vector<double> squares_;  ///< for each dimension a matrix of squared distances
  std::vector<double> distances_;
  std::vector<double> matrix_;
  std::vector<double> slopes_;
  std::vector<double> inverse_;
};

struct Best {
  double density = std::numeric_limits<double>::infinity();
  std::vector<double> logs;
  Posterior::Fit fit;
};

void descend(Posterior& posterior, double start, std::size_t dimensions, Best& best) {
  std::vector<double> logs(dimensions, start);
  logs.push_back(kNoiseCentre);
  std::vector<double> gradient(dimensions + 1);
  std::vector<double> before(dimensions + 1, 0.0);
  std::vector<double> steps(dimensions + 1, kFirstStep);
  Posterior::Fit fit;
  for (int step = 0; step < kDescentSteps; ++step) {
    const double density = posterior(logs, gradient, fit);
    if (!std::isfinite(density)) {
      return;
    }
    if (density < best.density) {
      best = {density, logs, fit};
    }
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double turn = gradient[i] * before[i];
      steps[i] *= turn > 0 ? 1.2 : (turn < 0 ? 0.5 : 1.0);
      before[i] = turn < 0 ? 0.0 : gradient[i];
      if (before[i] != 0) {
        logs[i] -= std::copysign(std::min(steps[i], 1.0), before[i]);
      }
    }
  }
}

}  // namespace

GaussianProcess::GaussianProcess(const std::vector<Axis>& axes, std::vector<Coordinates> points,
                                 std::span<const double> values)
    : axes_(axes), points_(std::move(points)) {
  TB_CHECK(!points_.empty() && points_.size() == values.size());
  const double count = static_cast<double>(values.size());
  mean_ = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean_) * (value - mean_);
  }
  if (squares > 0) {
    scale_ = std::sqrt(squares / count);
  }
  std::vector<double> standard(values.size());
  std::ranges::transform(values, standard.begin(),
                         [this](double value) { return (value - mean_) / scale_; });
  Posterior posterior(axes_, points_, std::move(standard));
  Best best;
  for (const double start : kStarts) {
    descend(posterior, start, axes_.size(), best);
  }
  TB_CHECK(std::isfinite(best.density));
  noise_ = std::exp(best.logs.back()) + kLeastNoise;
  best.logs.pop_back();
  for (const double log : best.logs) {
    lengths_.push_back(std::exp(log));
  }
  variance_ = best.fit.variance;
  factor_ = std::move(best.fit.factor);
  weights_ = std::move(best.fit.weights);
}

std::vector<Prediction> GaussianProcess::predict(std::span<const Coordinates> points) const {
  constexpr std::size_t kBlock = 256;
  std::vector<Prediction> predictions(points.size());
  for (std::size_t start = 0; start < points.size(); start += kBlock) {
    const std::size_t count = std::min(kBlock, points.size() - start);
    predict_block(points.subspan(start, count), predictions.data() + start);
  }
  return predictions;
}

void GaussianProcess::predict_block(std::span<const Coordinates> points, Prediction* out) const {
  const std::size_t n = points_.size();
  const std::size_t m = points.size();
  std::vector<double> cross(n * m);
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    const double factor = 1 / (lengths_[d] * lengths_[d]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        const double distance = axes_[d].distance(points_[i][d], points[j][d]);
        cross[i * m + j] += factor * distance * distance;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      double& at = cross[i * m + j];
      at = matern(at).value;
      out[j].mean += weights_[i] * at;
    }
  }
  solve_lower(factor_, n, cross.data(), m);
  std::vector<double> explained(m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      explained[j] += cross[i * m + j] * cross[i * m + j];
    }
  }
  for (std::size_t j = 0; j < m; ++j) {
    out[j].mean = mean_ + scale_ * out[j].mean;
    out[j].deviation = scale_ * std::sqrt(variance_ * std::max(0.0, 1 - explained[j]));
  }
}

}  // namespace tunebench::search
