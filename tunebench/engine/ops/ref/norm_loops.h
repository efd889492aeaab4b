#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/ops/ref/loops.h"

// Normalisations as their formulas read.
namespace tunebench::engine::ref {

template <typename T>
void add_rows(const View& x, const View& delta, const View& sum) {
  TB_DCHECK(same_shape(x, delta) && same_shape(x, sum));
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      row<T>(sum, t)[j] = row<T>(x, t)[j] + row<T>(delta, t)[j];
    }
  }
}

template <typename T>
double factor(const NormWeight& weight, std::int64_t j) {
  return weight.offset + double{weight.values.as<T>()[j]};
}

template <typename T>
void rms_norm_row(const T* in, std::int64_t cols, const NormWeight& weight, double epsilon, T* y,
                  T& rstd) {
  rstd = static_cast<T>(1.0 / std::sqrt(dot(in, in, cols) / static_cast<double>(cols) + epsilon));
  for (std::int64_t j = 0; j < cols; ++j) {
    y[j] = static_cast<T>(double{in[j]} * double{rstd} * factor<T>(weight, j));
  }
}

/// gradient = that of the row; weight_sum += that of the weight.
template <typename T>
void rms_norm_row_backward(const T* dy, const T* x, const NormWeight& weight, double rstd,
                           std::vector<double>& gradient, std::vector<double>& weight_sum) {
  const auto cols = static_cast<std::int64_t>(gradient.size());
  double projection = 0;
  for (std::int64_t j = 0; j < cols; ++j) {
    projection += double{dy[j]} * factor<T>(weight, j) * double{x[j]} * rstd;
  }
  projection /= static_cast<double>(cols);
  for (std::int64_t j = 0; j < cols; ++j) {
    const double normal = double{x[j]} * rstd;
    weight_sum[static_cast<std::size_t>(j)] += double{dy[j]} * normal;
    gradient[static_cast<std::size_t>(j)] =
        rstd * (double{dy[j]} * factor<T>(weight, j) - normal * projection);
  }
}

template <typename T>
void rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) {
  TB_DCHECK(same_shape(x, y) && has_shape(weight.values, 1, x.cols));
  TB_DCHECK(has_shape(rstd, 1, x.rows));
  for (std::int64_t t = 0; t < x.rows; ++t) {
    rms_norm_row<T>(row<T>(x, t), x.cols, weight, epsilon, row<T>(y, t), rstd.as<T>()[t]);
  }
}

template <typename T>
void add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum, View y,
                  View rstd) {
  add_rows<T>(x, delta, sum);
  rms_norm<T>(sum, weight, epsilon, y, rstd);
}

template <typename T>
void rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                       bool accumulate) {
  TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
  TB_DCHECK(has_shape(weight.values, 1, x.cols) && has_shape(rstd, 1, x.rows));
  std::vector<double> weight_sum(static_cast<std::size_t>(x.cols), 0.0);
  std::vector<double> gradient(weight_sum.size());
  for (std::int64_t t = 0; t < x.rows; ++t) {
    rms_norm_row_backward<T>(row<T>(dy, t), row<T>(x, t), weight, double{rstd.as<T>()[t]}, gradient,
                             weight_sum);
    store_all(gradient, row<T>(dx, t), true);
  }
  if (!dweight.empty()) {
    TB_DCHECK(has_shape(dweight, 1, x.cols));
    store_all(weight_sum, dweight.as<T>(), accumulate);
  }
}

template <typename T>
void layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) {
  TB_DCHECK(same_shape(x, y) && has_shape(weight, 1, x.cols) && has_shape(bias, 1, x.cols));
  TB_DCHECK(has_shape(stats, 2, x.rows));
  const double width = static_cast<double>(x.cols);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const T* const in = row<T>(x, t);
    double sum = 0;
    for (std::int64_t j = 0; j < x.cols; ++j) {
      sum += double{in[j]};
    }
    T& mean = row<T>(stats, 0)[t];
    mean = static_cast<T>(sum / width);
    double squares = 0;
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const double apart = double{in[j]} - double{mean};
      squares += apart * apart;
    }
    T& scale = row<T>(stats, 1)[t];
    scale = static_cast<T>(1.0 / std::sqrt(squares / width + epsilon));
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const double normal = (double{in[j]} - double{mean}) * double{scale};
      row<T>(y, t)[j] =
          static_cast<T>(normal * double{weight.as<T>()[j]} + double{bias.as<T>()[j]});
    }
  }
}

template <typename T>
void add_layer_norm(View x, View delta, View weight, View bias, double epsilon, View sum, View y,
                    View stats) {
  add_rows<T>(x, delta, sum);
  layer_norm<T>(sum, weight, bias, epsilon, y, stats);
}

template <typename T>
void layer_norm_backward(View dy, View x, View weight, View stats, View dx, View dweight,
                         View dbias, bool accumulate) {
  TB_DCHECK(same_shape(x, dy) && same_shape(x, dx) && dweight.empty() == dbias.empty());
  TB_DCHECK(has_shape(weight, 1, x.cols) && has_shape(stats, 2, x.rows));
  std::vector<double> weight_sum(static_cast<std::size_t>(x.cols), 0.0);
  std::vector<double> bias_sum(weight_sum.size(), 0.0);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const double mean{row<T>(stats, 0)[t]};
    const double scale{row<T>(stats, 1)[t]};
    const auto gradient = [&](std::int64_t j) {
      return double{row<T>(dy, t)[j]} * double{weight.as<T>()[j]};
    };
    const auto normal = [&](std::int64_t j) { return (double{row<T>(x, t)[j]} - mean) * scale; };
    double projection = 0;
    double level = 0;
    for (std::int64_t j = 0; j < x.cols; ++j) {
      projection += gradient(j) * normal(j);
      level += gradient(j);
    }
    projection /= static_cast<double>(x.cols);
    level /= static_cast<double>(x.cols);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const double dy_j{row<T>(dy, t)[j]};
      weight_sum[static_cast<std::size_t>(j)] += dy_j * normal(j);
      bias_sum[static_cast<std::size_t>(j)] += dy_j;
      store(row<T>(dx, t)[j], scale * (gradient(j) - level - normal(j) * projection), true);
    }
  }
  if (!dweight.empty()) {
    TB_DCHECK(has_shape(dweight, 1, x.cols) && has_shape(dbias, 1, x.cols));
    store_all(weight_sum, dweight.as<T>(), accumulate);
    store_all(bias_sum, dbias.as<T>(), accumulate);
  }
}

template <typename T>
void head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) {
  const std::int64_t width = weight.values.cols;
  TB_DCHECK(same_shape(x, y) && has_shape(rstd, x.rows, x.cols / width));
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t head = 0; head < rstd.cols; ++head) {
      rms_norm_row<T>(row<T>(x, t) + head * width, width, weight, epsilon,
                      row<T>(y, t) + head * width, row<T>(rstd, t)[head]);
    }
  }
}

template <typename T>
void head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                        bool accumulate) {
  const std::int64_t width = weight.values.cols;
  TB_DCHECK(same_shape(x, dy) && same_shape(x, dx) && has_shape(rstd, x.rows, x.cols / width));
  std::vector<double> weight_sum(static_cast<std::size_t>(width), 0.0);
  std::vector<double> gradient(weight_sum.size());
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t head = 0; head < rstd.cols; ++head) {
      rms_norm_row_backward<T>(row<T>(dy, t) + head * width, row<T>(x, t) + head * width, weight,
                               double{row<T>(rstd, t)[head]}, gradient, weight_sum);
      store_all(gradient, row<T>(dx, t) + head * width, false);
    }
  }
  if (!dweight.empty()) {
    store_all(weight_sum, dweight.as<T>(), accumulate);
  }
}

}  // namespace tunebench::engine::ref
