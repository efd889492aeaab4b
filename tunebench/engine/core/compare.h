#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/core/view.h"

// How tests judge numbers.
namespace tunebench::engine {

/// Sum of products, in double.
inline double inner_product(const View& a, const View& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    sum += Matrix::element(a, i) * Matrix::element(b, i);
  }
  return sum;
}

/// |got - wanted| / |wanted| in 2-norm; |got| when wanted is zero. NaN anywhere gives NaN, which
/// no comparison accepts.
inline double relative_difference(const View& got, const View& wanted) {
  TB_CHECK(got.rows == wanted.rows && got.cols == wanted.cols);
  double difference = 0;
  double size = 0;
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    const double target = Matrix::element(wanted, i);
    const double apart = Matrix::element(got, i) - target;
    difference += apart * apart;
    size += target * target;
  }
  return std::sqrt(size > 0 ? difference / size : difference);
}

/// How far `gradient` is from the slope of `f` along a random direction v through `value`:
///   |(f(x + h v) - f(x - h v)) / 2h - <gradient, v>|, relative to the larger of |<gradient, v>|
///   and
/// |gradient|, so that a direction that happens to be flat does not magnify rounding. f64 only:
/// with h = 1e-6 truncation and rounding both stay below 1e-8. `value` is left as it was.
inline double slope_error(const std::function<double()>& f, const View& value, const View& gradient,
                          std::uint64_t seed) {
  constexpr double kStep = 1e-6;
  Matrix before(value.rows, value.cols, DType::F64);
  Matrix direction = Matrix::normal(value.rows, value.cols, DType::F64, seed);
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    before.set(i, Matrix::element(value, i));
  }
  const auto at = [&](double step) {
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      Matrix::set_element(value, i, before.get(i) + step * direction.get(i));
    }
    return f();
  };
  const double slope = (at(kStep) - at(-kStep)) / (2.0 * kStep);
  static_cast<void>(at(0.0));
  const double expected = inner_product(gradient, direction.view());
  const double size = std::max(std::abs(expected), std::sqrt(inner_product(gradient, gradient)));
  return std::abs(slope - expected) / (size > 0 ? size : 1.0);
}

}  // namespace tunebench::engine
