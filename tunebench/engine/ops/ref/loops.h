#pragma once

#include <cstdint>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/engine/core/view.h"

// What the loops of the oracle are written with.
namespace tunebench::engine::ref {

[[maybe_unused]] inline bool has_shape(const View& view, std::int64_t rows, std::int64_t cols) {
  return view.rows == rows && view.cols == cols && view.stride >= cols;
}

[[maybe_unused]] inline bool same_shape(const View& a, const View& b) {
  return has_shape(a, b.rows, b.cols);
}

template <typename T>
T* row(const View& view, std::int64_t index) {
  return view.as<T>() + index * view.stride;
}

template <typename T>
void store(T& target, double value, bool accumulate) {
  target = static_cast<T>(accumulate ? double{target} + value : value);
}

template <typename T>
double dot(const T* a, const T* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += double{a[i]} * double{b[i]};
  }
  return sum;
}

template <typename T>
void store_all(const std::vector<double>& values, T* targets, bool accumulate) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    store(targets[j], values[j], accumulate);
  }
}

}  // namespace tunebench::engine::ref
