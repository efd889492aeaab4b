#include "tunebench/engine/train/matrix_rate.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tunebench/engine/core/matrix.h"

namespace tunebench::engine {
namespace {

// Large enough for some ten cores, small enough for several of them in a quarter of a second on
// two.
constexpr std::int64_t kRows = 1024;
constexpr std::int64_t kInner = 2048;
constexpr std::int64_t kCols = 2048;

/// No denormals, no infinities: values that a product of weights could have.
void fill(View view) {
  for (std::int64_t i = 0; i < view.rows * view.cols; ++i) {
    view.f32()[i] = static_cast<float>(i % 31 - 15) * 0.01F;
  }
}

}  // namespace

double matrix_rate_gflops(Ops& ops, double seconds) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  Matrix a(kRows, kInner, DType::F32);
  Matrix b(kCols, kInner, DType::F32);
  Matrix c(kRows, kCols, DType::F32);
  fill(a.view());
  fill(b.view());
  constexpr double kGflop = 2e-9 * kRows * kInner * kCols;
  double best = 0;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < 2 || Seconds(Clock::now() - begin).count() < seconds; ++i) {
    const Clock::time_point before = Clock::now();
    ops.gemm(false, true, a.view(), b.view(), c.view(), false);
    best = std::max(best, kGflop / Seconds(Clock::now() - before).count());
  }
  return best;
}

}  // namespace tunebench::engine
