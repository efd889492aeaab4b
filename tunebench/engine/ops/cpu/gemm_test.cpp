#include "tunebench/engine/ops/cpu/gemm.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"

namespace tunebench::engine::cpu {
namespace {

TEST(ChooseGrid, CutsTheLongerSide) {
  const Grid wide = choose_grid(512, 3072, 2);
  EXPECT_EQ(wide.rows, 1);
  EXPECT_EQ(wide.cols, 2);
  const Grid tall = choose_grid(49152, 576, 2);
  EXPECT_EQ(tall.rows, 2);
  EXPECT_EQ(tall.cols, 1);
}

TEST(ChooseGrid, CutsBothSidesForManyThreads) {
  const Grid grid = choose_grid(2048, 2304, 16);
  EXPECT_EQ(grid.rows, 4);
  EXPECT_EQ(grid.cols, 4);
}

TEST(ChooseGrid, NeverMakesMorePiecesThanThreads) {
  for (const std::int64_t rows : {1, 8, 100, 4096}) {
    for (const std::int64_t cols : {1, 48, 100, 4096}) {
      for (const int threads : {1, 2, 3, 7, 16}) {
        const Grid grid = choose_grid(rows, cols, threads);
        EXPECT_GE(grid.rows * grid.cols, 1);
        EXPECT_LE(grid.rows * grid.cols, threads);
      }
    }
  }
}

TEST(Multiply, EveryGridGivesTheProduct) {
  ThreadPool pool(3);
  Matrix a = Matrix::normal(50, 40, DType::F32, 1);
  Matrix b = Matrix::normal(40, 150, DType::F32, 2);
  Matrix expected(50, 150, DType::F32);
  multiply_serial({.a = a.view(), .b = b.view(), .c = expected.view()});
  for (const Grid grid : {Grid{1, 1}, Grid{3, 1}, Grid{1, 3}, Grid{4, 2}, Grid{100, 100}}) {
    Matrix c(50, 150, DType::F32);
    multiply(pool, {.a = a.view(), .b = b.view(), .c = c.view()}, grid);
    EXPECT_LT(relative_difference(c.view(), expected.view()), 1e-6);
  }
}

}  // namespace
}  // namespace tunebench::engine::cpu
