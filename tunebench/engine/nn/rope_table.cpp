#include "tunebench/engine/nn/rope_table.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/model/rope.h"

namespace tunebench::engine {
namespace {

template <typename T>
void fill_table(const std::vector<double>& frequencies, double amplitude, View table) {
  const auto half = static_cast<std::int64_t>(frequencies.size());
  for (std::int64_t position = 0; position < table.rows; ++position) {
    T* const row = table.as<T>() + position * table.stride;
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
      row[i] = static_cast<T>(amplitude * std::cos(angle));
      row[half + i] = static_cast<T>(amplitude * std::sin(angle));
    }
  }
}

void fill(const std::vector<double>& frequencies, double amplitude, View table) {
  TB_CHECK(table.cols == 2 * std::ssize(frequencies));
  if (table.dtype == DType::F64) {
    fill_table<double>(frequencies, amplitude, table);
  } else {
    fill_table<float>(frequencies, amplitude, table);
  }
}

}  // namespace

void fill_rope_table(const model::ModelSpec& spec, std::int64_t length, View table) {
  fill(model::rope_frequencies(spec, length), spec.rope_scaling.amplitude, table);
}

void fill_local_rope_table(const model::ModelSpec& spec, View table) {
  fill(model::local_rope_frequencies(spec), 1.0, table);
}

}  // namespace tunebench::engine
