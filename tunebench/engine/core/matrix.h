#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/view.h"

namespace tunebench::engine {

/// Owns what a View shows, beginning as zeros. For tests and benchmarks: the engine itself takes
/// its memory from an Arena. Not copyable, so that views of it stay good when it is moved.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t cols, DType dtype)
      : bytes_(static_cast<std::size_t>(rows * cols) * dtype_bytes(dtype)),
        rows_(rows),
        cols_(cols),
        dtype_(dtype) {}
  ~Matrix() = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  Matrix(Matrix&&) = default;
  Matrix& operator=(Matrix&&) = default;

  /// Normal numbers of this deviation; the same seed gives the same numbers.
  static Matrix normal(std::int64_t rows, std::int64_t cols, DType dtype, std::uint64_t seed,
                       double deviation = 1.0) {
    Matrix matrix(rows, cols, dtype);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      matrix.set(i, deviation * tunebench::normal(seed, 0, static_cast<std::uint64_t>(i)));
    }
    return matrix;
  }

  [[nodiscard]] View view() {
    return {bytes_.empty() ? nullptr : bytes_.data(), dtype_, rows_, cols_, cols_};
  }

  [[nodiscard]] double get(std::int64_t i) { return element(view(), i); }
  void set(std::int64_t i, double value) { set_element(view(), i, value); }

  /// Element i of a view, row by row, whatever its dtype.
  static double element(const View& view, std::int64_t i) {
    const std::int64_t at = i / view.cols * view.stride + i % view.cols;
    return view.dtype == DType::F64 ? view.f64()[at] : double{view.f32()[at]};
  }
  static void set_element(const View& view, std::int64_t i, double value) {
    const std::int64_t at = i / view.cols * view.stride + i % view.cols;
    if (view.dtype == DType::F64) {
      view.f64()[at] = value;
    } else {
      view.f32()[at] = static_cast<float>(value);
    }
  }

 private:
  std::vector<std::byte> bytes_;
  std::int64_t rows_;
  std::int64_t cols_;
  DType dtype_;
};

}  // namespace tunebench::engine
