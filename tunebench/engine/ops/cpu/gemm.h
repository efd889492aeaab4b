#pragma once

#include <cstdint>

#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/core/view.h"

namespace tunebench::engine::cpu {

/// c = alpha op(a) op(b) (+ c). Rows of c and the inner size come from the views.
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  View a;
  View b;
  View c;
  bool accumulate = false;
  float alpha = 1.0F;
};

/// The inner size K.
std::int64_t inner_size(const Product& product);

/// On the calling thread alone; callable from several threads at once.
void multiply_serial(const Product& product);

/// How c is cut among threads: `rows` x `cols` pieces.
struct Grid {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};
/// The grid of at most `threads` pieces whose operands are read least often. Depends on the sizes
/// and the number of threads only.
Grid choose_grid(std::int64_t rows, std::int64_t cols, int threads);

/// One of the grid.rows * grid.cols pieces.
Product piece_of(const Product& product, Grid grid, std::int64_t index);

/// Each piece of the grid by one serial product.
void multiply(ThreadPool& pool, const Product& product, Grid grid);

/// Readies the calling thread for multiply_serial: one OpenMP thread, denormals flushed.
void prepare_this_thread();

/// Keeps the library's per-call workspace in the heap: without it each large product asks the
/// system for pages and gives them back. Affects the whole process; done once.
void keep_product_workspace();

}  // namespace tunebench::engine::cpu
