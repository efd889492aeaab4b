#include "tunebench/engine/methods/added_values.h"

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"

namespace tunebench::engine {
namespace {

/// FNV-1a: the random stream of a tensor.
std::uint64_t stream_of_tensor(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  }
  return hash;
}

template <typename Draw>
void fill_with(const View& to, Draw draw) {
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const double value = draw(static_cast<std::uint64_t>(i));
    if (to.dtype == DType::F64) {
      to.f64()[i] = value;
    } else {
      to.f32()[i] = static_cast<float>(value);
    }
  }
}

}  // namespace

void draw_uniform(std::uint64_t seed, std::string_view name, double bound, const View& to) {
  const std::uint64_t stream = stream_of_tensor(name);
  fill_with(to, [&](std::uint64_t i) { return bound * (2.0 * uniform(seed, stream, i) - 1.0); });
}

void copy_scaled(const View& from, double factor, const View& to) {
  TB_CHECK(from.dtype == to.dtype && from.cols == to.cols);
  for (std::int64_t i = 0; i < to.cols; ++i) {
    if (to.dtype == DType::F64) {
      to.f64()[i] = factor * from.f64()[i];
    } else {
      to.f32()[i] = static_cast<float>(factor * double{from.f32()[i]});
    }
  }
}

void draw_standard_normal(std::uint64_t seed, std::string_view name, const View& to) {
  const std::uint64_t stream = stream_of_tensor(name);
  fill_with(to, [&](std::uint64_t i) { return normal(seed, stream, i); });
}

}  // namespace tunebench::engine
