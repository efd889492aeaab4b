// The only file that knows oneDNN.
#include "tunebench/engine/ops/cpu/gemm.h"

#include <algorithm>
#include <string>

#include <dnnl.h>
#include <malloc.h>
#include <omp.h>

#include "tunebench/base/error.h"
#include "tunebench/engine/ops/cpu/kernels.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine::cpu {
namespace {

// Cuts fall on whole register tiles of the library's kernels (24 x 4 with AVX2, 48 x 8 with
// AVX-512).
constexpr std::int64_t kRowGrain = 8;
constexpr std::int64_t kColGrain = 48;

// Columns of one library call. The workspace it allocates grows with them; this many keep it in
// the caches and below what keep_product_workspace() keeps.
constexpr std::int64_t kColsAtOnce = 3072;

constexpr int kKeptBytes = 32 << 20;  // the largest that glibc accepts

struct Span {
  std::int64_t begin;
  std::int64_t end;
};

Span piece(std::int64_t count, std::int64_t grain, std::int64_t pieces, std::int64_t index) {
  const std::int64_t blocks = (count + grain - 1) / grain;
  return {std::min(count, blocks * index / pieces * grain),
          std::min(count, blocks * (index + 1) / pieces * grain)};
}

View rows_of(View view, bool transposed, Span span) {
  return transposed ? view.col_range(span.begin, span.end - span.begin)
                    : view.row_range(span.begin, span.end - span.begin);
}

View cols_of(View view, bool transposed, Span span) {
  return rows_of(view, !transposed, span);
}

void call_library(const Product& p) {
  const std::int64_t inner = inner_size(p);
  if (p.c.rows == 0 || p.c.cols == 0) {
    return;
  }
  if (inner == 0) {
    if (!p.accumulate) {
      fill_rows(p.c, 0.0F);
    }
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.c.rows, p.c.cols, inner,
                 p.alpha, p.a.f32(), p.a.stride, p.b.f32(), p.b.stride, p.accumulate ? 1.0F : 0.0F,
                 p.c.f32(), p.c.stride);
  TB_CHECK(status == dnnl_success);
}

}  // namespace

std::int64_t inner_size(const Product& product) {
  return product.transpose_a ? product.a.rows : product.a.cols;
}

void prepare_this_thread() {
  // The library would otherwise start a team of its own inside each of our threads.
  thread_local bool ready = false;
  if (!ready) {
    omp_set_num_threads(1);
    flush_denormals_in_this_thread();
    ready = true;
  }
}

void keep_product_workspace() {
  // Setting either threshold also stops glibc from moving them by itself.
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kKeptBytes);
}

void multiply_serial(const Product& product) {
  prepare_this_thread();
  for (std::int64_t col = 0; col < product.c.cols; col += kColsAtOnce) {
    const Span cols{col, std::min(col + kColsAtOnce, product.c.cols)};
    Product part = product;
    part.b = cols_of(product.b, product.transpose_b, cols);
    part.c = cols_of(product.c, false, cols);
    call_library(part);
  }
}

Grid choose_grid(std::int64_t rows, std::int64_t cols, int threads) {
  const std::int64_t most_rows = (rows + kRowGrain - 1) / kRowGrain;
  const std::int64_t most_cols = (cols + kColGrain - 1) / kColGrain;
  Grid best;
  double best_cost = 0.0;
  for (std::int64_t pieces = 1; pieces <= threads; ++pieces) {
    const Grid grid{.rows = std::min<std::int64_t>(pieces, most_rows),
                    .cols = std::min<std::int64_t>(threads / pieces, most_cols)};
    if (grid.rows < 1 || grid.cols < 1) {
      continue;
    }
    // The largest piece sets the time: its arithmetic, and the copying of its rows of a and
    // columns of b, which weighs as much as some 16 rows or columns of arithmetic.
    const double piece_rows =
        static_cast<double>((most_rows + grid.rows - 1) / grid.rows * kRowGrain);
    const double piece_cols =
        static_cast<double>((most_cols + grid.cols - 1) / grid.cols * kColGrain);
    const double cost = piece_rows * piece_cols + 16.0 * (piece_rows + piece_cols);
    if (best_cost == 0.0 || cost <= best_cost) {
      best = grid;
      best_cost = cost;
    }
  }
  return best;
}

Product piece_of(const Product& product, Grid grid, std::int64_t index) {
  const Span rows = piece(product.c.rows, kRowGrain, grid.rows, index / grid.cols);
  const Span cols = piece(product.c.cols, kColGrain, grid.cols, index % grid.cols);
  Product part = product;
  part.a = rows_of(product.a, product.transpose_a, rows);
  part.b = cols_of(product.b, product.transpose_b, cols);
  part.c = cols_of(rows_of(product.c, false, rows), false, cols);
  return part;
}

void multiply(ThreadPool& pool, const Product& product, Grid grid) {
  const std::int64_t pieces = grid.rows * grid.cols;
  pool.run([&](int thread) {
    for (std::int64_t index = thread; index < pieces; index += pool.size()) {
      multiply_serial(piece_of(product, grid, index));
    }
  });
}

}  // namespace tunebench::engine::cpu

namespace tunebench::engine {

std::vector<std::pair<std::string, std::string>> cpu_ops_libraries() {
  const dnnl_version_t* version = dnnl_version();
  return {{"onednn", std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                         std::to_string(version->patch)}};
}

}  // namespace tunebench::engine
