#include "tunebench/engine/nn/rope_table.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

template <typename T>
void fill_table(const std::vector<double>& frequencies, View table) {
  const auto half = static_cast<std::int64_t>(frequencies.size());
  for (std::int64_t position = 0; position < table.rows; ++position) {
    T* const row = table.as<T>() + position * table.stride;
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
      row[i] = static_cast<T>(std::cos(angle));
      row[half + i] = static_cast<T>(std::sin(angle));
    }
  }
}

}  // namespace

void fill_rope_table(const model::ModelSpec& spec, View table) {
  TB_CHECK(table.cols == spec.head_width);
  const std::vector<double> frequencies = model::rope_frequencies(spec);
  if (table.dtype == DType::F64) {
    fill_table<double>(frequencies, table);
  } else {
    fill_table<float>(frequencies, table);
  }
}

}  // namespace tunebench::engine
