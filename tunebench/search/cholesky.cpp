#include "tunebench/search/internal/cholesky.h"

#include <cmath>

namespace tunebench::search {
namespace {

/// y -= a * x
void subtract_scaled(double a, const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] -= a * x[i];
  }
}

void scale_by(double a, double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] *= a;
  }
}

}  // namespace

// Row operations throughout: they run along memory and do not wait for a sum.
bool cholesky(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    double* row = matrix.data() + k * n;
    if (!(row[k] > 0) || !std::isfinite(row[k])) {
      return false;
    }
    scale_by(1 / std::sqrt(row[k]), row + k, n - k);
    for (std::size_t i = k + 1; i < n; ++i) {
      subtract_scaled(row[i], row + i, matrix.data() + i * n + i, n - i);
    }
  }
  return true;
}

void solve_lower(const std::vector<double>& factor, std::size_t n, double* b, std::size_t columns) {
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = factor.data() + i * n;
    scale_by(1 / row[i], b + i * columns, columns);
    for (std::size_t j = i + 1; j < n; ++j) {
      subtract_scaled(row[j], b + i * columns, b + j * columns, columns);
    }
  }
}

void solve_upper(const std::vector<double>& factor, std::size_t n, double* b, std::size_t columns) {
  for (std::size_t i = n; i-- > 0;) {
    const double* row = factor.data() + i * n;
    for (std::size_t j = i + 1; j < n; ++j) {
      subtract_scaled(row[j], b + j * columns, b + i * columns, columns);
    }
    scale_by(1 / row[i], b + i * columns, columns);
  }
}

}  // namespace tunebench::search
