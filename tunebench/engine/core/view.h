#pragma once

#include <cstddef>
#include <cstdint>

#include "tunebench/base/error.h"

namespace tunebench::engine {

/// Element type of arithmetic. float64 exists for the reference backend, where gradients are
/// checked against finite differences. I32 holds places, which nothing computes with.
enum class DType { F32, F64, I32 };

constexpr std::size_t dtype_bytes(DType dtype) {
  return dtype == DType::F64 ? 8 : 4;
}

/// A non-owning matrix: rows x cols elements, rows `stride` elements apart. A vector is one row.
/// Activations are [tokens, features]; batch and sequence exist only in Sequences.
struct View {
  void* data = nullptr;
  DType dtype = DType::F32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  [[nodiscard]] bool empty() const { return data == nullptr; }
  [[nodiscard]] bool contiguous() const { return rows <= 1 || stride == cols; }
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }

  [[nodiscard]] float* f32() const {
    TB_DCHECK(dtype == DType::F32);
    return static_cast<float*>(data);
  }
  [[nodiscard]] double* f64() const {
    TB_DCHECK(dtype == DType::F64);
    return static_cast<double*>(data);
  }
  [[nodiscard]] std::int32_t* i32() const {
    TB_DCHECK(dtype == DType::I32);
    return static_cast<std::int32_t*>(data);
  }
  template <typename T>
  [[nodiscard]] T* as() const {
    TB_DCHECK(sizeof(T) == dtype_bytes(dtype));
    return static_cast<T*>(data);
  }

  /// Rows [first, first + count).
  [[nodiscard]] View row_range(std::int64_t first, std::int64_t count) const {
    TB_DCHECK(first >= 0 && first + count <= rows);
    return {offset(first * stride), dtype, count, cols, stride};
  }
  /// Columns [first, first + count), same stride.
  [[nodiscard]] View col_range(std::int64_t first, std::int64_t count) const {
    TB_DCHECK(first >= 0 && first + count <= cols);
    return {offset(first), dtype, rows, count, stride};
  }

  /// The first `count` rows; of a view without rows that same view.
  [[nodiscard]] View first_rows(std::int64_t count) const {
    return rows == 0 ? *this : row_range(0, count);
  }
  /// The first `count` columns; of a view without rows that same view.
  [[nodiscard]] View first_cols(std::int64_t count) const {
    return rows == 0 ? *this : col_range(0, count);
  }

 private:
  [[nodiscard]] void* offset(std::int64_t elements_in) const {
    // A planned view has no memory; its parts have none either.
    return empty() ? nullptr
                   : static_cast<std::byte*>(data) +
                         elements_in * static_cast<std::int64_t>(dtype_bytes(dtype));
  }
};

}  // namespace tunebench::engine
