#include <algorithm>
#include <cmath>
#include <utility>

#include "tunebench/search/internal/surrogate.h"

namespace tunebench::search {
namespace {

/// Share of the points that count as good.
constexpr double kGoodShare = 0.15;
// Of one point: deviation of a kernel over places in [0, 1], and weight that goes to other names.
// They shrink with the number of points as Scott's rule says.
constexpr double kFirstWidth = 0.3;
constexpr double kFirstSpread = 0.5;

/// A mixture of one product kernel per point, and a uniform part that weighs as much as a point.
class Mixture {
 public:
  Mixture(const std::vector<Axis>& axes, std::vector<const Coordinates*> points)
      : points_(std::move(points)) {
    const double shrink = std::pow(static_cast<double>(points_.size() + 1),
                                   -1.0 / (4.0 + static_cast<double>(axes.size())));
    for (const Axis& axis : axes) {
      axes_.push_back(axis.ordered ? bell_kernel(axis, kFirstWidth * shrink)
                                   : name_kernel(axis, kFirstSpread * shrink));
      uniform_ /= static_cast<double>(axis.levels);
    }
    for (const Coordinates* point : points_) {
      double scale = 1;
      for (std::size_t d = 0; d < axes_.size(); ++d) {
        scale /= axes_[d].total((*point)[d]);
      }
      scales_.push_back(scale);
    }
  }

  [[nodiscard]] double density(const Coordinates& at) const {
    double sum = uniform_;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      double product = scales_[i];
      for (std::size_t d = 0; d < axes_.size(); ++d) {
        product *= axes_[d].weight((*points_[i])[d], at[d]);
      }
      sum += product;
    }
    return sum / static_cast<double>(points_.size() + 1);
  }

 private:
  /// Unscaled weights of one dimension; total() is their sum over its values.
  struct Kernel {
    const Axis* axis;
    double width;    ///< ordered: deviation
    double own = 1;  ///< names: weight of the same and of another one
    double other = 1;

    [[nodiscard]] double weight(std::size_t centre, std::size_t at) const {
      if (axis->ordered) {
        const double z = axis->distance(centre, at) / width;
        return std::exp(-0.5 * z * z);
      }
      return centre == at ? own : other;
    }
    [[nodiscard]] double total(std::size_t centre) const {
      if (!axis->ordered) {
        return 1;
      }
      double sum = 0;
      for (std::size_t level = 0; level < axis->levels; ++level) {
        sum += weight(centre, level);
      }
      return sum;
    }
  };

  /// Not narrower than half the mean gap, or a kernel would be a single value.
  static Kernel bell_kernel(const Axis& axis, double width) {
    const double gap = 1 / std::max(1.0, static_cast<double>(axis.levels) - 1);
    return {.axis = &axis, .width = std::max(width, gap / 2)};
  }
  static Kernel name_kernel(const Axis& axis, double spread) {
    const auto levels = static_cast<double>(axis.levels);
    return {.axis = &axis,
            .width = 0,
            .own = 1 - spread * (levels - 1) / levels,
            .other = spread / levels};
  }

  std::vector<const Coordinates*> points_;
  std::vector<Kernel> axes_;
  std::vector<double> scales_;
  double uniform_ = 1;
};

class Tpe final : public Surrogate {
 public:
  [[nodiscard]] std::vector<double> score(const std::vector<Axis>& axes, const Evidence& evidence,
                                          std::span<const Coordinates> candidates) const override {
    const auto good_count = static_cast<std::size_t>(
        std::ceil(kGoodShare * static_cast<double>(evidence.outcomes.size())));
    std::vector<const Coordinates*> good;
    std::vector<const Coordinates*> others;
    for (const std::size_t index : evidence.order) {
      const bool is_good = good.size() < good_count && !evidence.outcomes[index].failed;
      (is_good ? good : others).push_back(&evidence.measured[index]);
    }
    for (const Coordinates& pending : evidence.pending) {
      others.push_back(&pending);
    }
    const Mixture better(axes, std::move(good));
    const Mixture worse(axes, std::move(others));
    std::vector<double> scores;
    scores.reserve(candidates.size());
    for (const Coordinates& candidate : candidates) {
      scores.push_back(better.density(candidate) / worse.density(candidate));
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<Surrogate> make_tpe() {
  return std::make_unique<Tpe>();
}

}  // namespace tunebench::search
