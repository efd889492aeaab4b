#include "tunebench/engine/train/matrix_rate.h"

#include <gtest/gtest.h>

#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

TEST(MatrixRateTest, IsThatOfAMachine) {
  const double rate = matrix_rate_gflops(*make_cpu_ops(2), 0.0);
  EXPECT_GT(rate, 0.01);
  EXPECT_LT(rate, 1e5);
}

}  // namespace
}  // namespace tunebench::engine
