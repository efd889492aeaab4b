#include <algorithm>
#include <cmath>
#include <numeric>

#include "tunebench/base/error.h"
#include "tunebench/search/hypervolume.h"
#include "tunebench/search/internal/surrogate.h"

namespace tunebench::search {
namespace {

/// A Gaussian process over more points takes too long; the best and the last ones tell most.
constexpr std::size_t kMostLearnt = 256;
/// Values beyond it are taken for it, so that their squares are numbers.
constexpr double kLargest = 1e100;

double skewness(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  double cubes = 0;
  for (const double value : values) {
    const double from_mean = value - mean;
    squares += from_mean * from_mean;
    cubes += from_mean * from_mean * from_mean;
  }
  return squares > 0 ? cubes / count / std::pow(squares / count, 1.5) : 0.0;
}

/// Losses of one sign become logarithms where that makes them less lopsided: rates and times of
/// different models span decades. Keeps the order.
class Scale {
 public:
  explicit Scale(std::span<const double> losses) {
    TB_CHECK(!losses.empty());
    const auto [low, high] = std::ranges::minmax(losses);
    if (!(low > 0 || high < 0)) {
      return;
    }
    sign_ = low > 0 ? 1 : -1;
    std::vector<double> logs(losses.size());
    std::ranges::transform(losses, logs.begin(),
                           [this](double loss) { return sign_ * std::log(sign_ * loss); });
    logarithmic_ = std::abs(skewness(logs)) < std::abs(skewness(losses));
  }

  /// A loss that has no logarithm is as far as possible on its side.
  [[nodiscard]] double operator()(double loss) const {
    if (!logarithmic_) {
      return std::clamp(loss, -kLargest, kLargest);
    }
    return sign_ * std::log(std::max(sign_ * loss, 1e-300));
  }

 private:
  double sign_ = 1;
  bool logarithmic_ = false;
};

/// Indices of outcomes to learn from.
std::vector<std::size_t> learnt(const Evidence& evidence) {
  const std::size_t count = evidence.outcomes.size();
  std::vector<bool> wanted(count, count <= kMostLearnt);
  if (count > kMostLearnt) {
    for (std::size_t i = 0; i < kMostLearnt / 2; ++i) {
      wanted[evidence.order[i]] = true;
      wanted[count - 1 - i] = true;
    }
  }
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i]) {
      indices.push_back(i);
    }
  }
  return indices;
}

struct Model {
  std::vector<Prediction> predictions;
  std::vector<double> losses;  ///< of the valid outcomes, scaled
  double reference = 0;        ///< scaled
};

/// One objective. A failed point is as bad as the worst valid one, a pending one is taken to turn
/// out in the middle.
Model model_of(std::size_t objective, const std::vector<Axis>& axes, const Evidence& evidence,
               std::span<const Coordinates> candidates) {
  std::vector<double> raw;
  for (const Outcome& outcome : evidence.outcomes) {
    if (!outcome.failed) {
      raw.push_back(outcome.losses[objective]);
    }
  }
  const Scale scale(raw);
  Model model;
  std::ranges::transform(raw, std::back_inserter(model.losses), scale);
  model.reference = scale(evidence.reference[objective]);
  std::vector<double> sorted = model.losses;
  std::ranges::sort(sorted);
  std::vector<Coordinates> points;
  std::vector<double> values;
  for (const std::size_t index : learnt(evidence)) {
    const Outcome& outcome = evidence.outcomes[index];
    points.push_back(evidence.measured[index]);
    values.push_back(outcome.failed ? sorted.back() : scale(outcome.losses[objective]));
  }
  for (const Coordinates& pending : evidence.pending) {
    points.push_back(pending);
    values.push_back(sorted[sorted.size() / 2]);
  }
  model.predictions = GaussianProcess(axes, std::move(points), values).predict(candidates);
  return model;
}

class ExpectedImprovement final : public Surrogate {
 public:
  [[nodiscard]] std::vector<double> score(const std::vector<Axis>& axes, const Evidence& evidence,
                                          std::span<const Coordinates> candidates) const override {
    const std::size_t objectives = evidence.reference.size();
    std::vector<Model> models;
    for (std::size_t i = 0; i < objectives; ++i) {
      models.push_back(model_of(i, axes, evidence, candidates));
    }
    const std::vector<Box> boxes = boxes_of(models);
    std::vector<double> scores;
    scores.reserve(candidates.size());
    std::vector<double> means(objectives);
    std::vector<double> deviations(objectives);
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      for (std::size_t i = 0; i < objectives; ++i) {
        means[i] = models[i].predictions[j].mean;
        deviations[i] = models[i].predictions[j].deviation;
      }
      scores.push_back(expected_volume_gain(means, deviations, boxes));
    }
    return scores;
  }

 private:
  /// What is still to be gained over the valid outcomes.
  static std::vector<Box> boxes_of(const std::vector<Model>& models) {
    LossRows rows(models.front().losses.size());
    std::vector<double> reference;
    for (const Model& model : models) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        rows[j].push_back(model.losses[j]);
      }
      reference.push_back(model.reference);
    }
    const std::vector<bool> dominated = dominated_points(rows);
    LossRows front;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (!dominated[j]) {
        front.push_back(rows[j]);
      }
    }
    return improvement_boxes(front, reference);
  }
};

}  // namespace

std::unique_ptr<Surrogate> make_expected_improvement() {
  return std::make_unique<ExpectedImprovement>();
}

}  // namespace tunebench::search
