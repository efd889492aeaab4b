// Causal attention tile by tile: scores of a tile are made, used and forgotten, in the forward pass
// with the running softmax, in the backward pass from the kept log denominators.
// Source: Dao 2023, arXiv:2307.08691.
#include "tunebench/engine/ops/cpu/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tunebench/engine/ops/cpu/gemm.h"
#include "tunebench/engine/ops/cpu/kernels.h"

namespace tunebench::engine::cpu {
namespace {

// Forward: a tile is kQueryRows x kKeyCols. Backward: kQueryChunk x kKeyBlock, twice. Both take
// 128 KiB, which lies in the second-level cache beside the rows it is made from.
constexpr std::int64_t kQueryRows = 64;
constexpr std::int64_t kKeyCols = 512;
constexpr std::int64_t kQueryChunk = 256;
constexpr std::int64_t kKeyBlock = 64;
constexpr std::int64_t kTileFloats = kQueryRows * kKeyCols;
static_assert(kTileFloats == 2 * kQueryChunk * kKeyBlock);

constexpr std::int64_t kMostSplits = 8;

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

/// Into how many parts the keys of each (sequence, kv-head) are split so that the backward pass
/// keeps all threads busy. Each part but the first needs its own query gradient.
std::int64_t key_splits(const Heads& heads, const Sequences& sequences, int threads) {
  const std::int64_t units = sequences.count * heads.key_value;
  const std::int64_t most =
      std::min(kMostSplits, std::max<std::int64_t>(1, blocks_of(sequences.length, kKeyBlock)));
  std::int64_t best = 1;
  double best_use = 0.0;
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    const std::int64_t tasks = units * splits;
    const double use =
        static_cast<double>(tasks) / static_cast<double>(blocks_of(tasks, threads) * threads);
    if (use > best_use + 0.05) {
      best = splits;
      best_use = use;
    }
  }
  return best;
}

std::int64_t partial_floats(const Heads& heads, const Sequences& sequences, int threads) {
  return (key_splits(heads, sequences, threads) - 1) * sequences.tokens() * heads.query_cols();
}

/// Rows of one sequence, columns of one head.
View head_rows(View matrix, std::int64_t first_row, std::int64_t rows, std::int64_t first_col,
               std::int64_t width) {
  return matrix.row_range(first_row, rows).col_range(first_col, width);
}

View tile_view(float* data, std::int64_t rows, std::int64_t cols) {
  return {data, DType::F32, rows, cols, cols};
}

/// The tile of one head whose scores are `scores`; its first row sees columns up to
/// `first_visible`.
ScoreTile score_tile(const AttentionShape& shape, std::int64_t head, View scores,
                     std::int64_t first_visible) {
  const Scoring& scoring = shape.scoring;
  return {.scores = scores,
          .first_visible = first_visible,
          .scale = static_cast<float>(scoring.scale),
          .window = scoring.window,
          .cap = static_cast<float>(scoring.cap),
          .slope = scoring.alibi ? static_cast<float>(alibi_slope(head, shape.heads.query)) : 0.0F};
}

/// The first key that queries from `first` on see.
std::int64_t first_key(const AttentionShape& shape, std::int64_t first) {
  const std::int64_t window = shape.scoring.window;
  return window == 0 ? 0 : std::max<std::int64_t>(0, first - window + 1);
}

/// One block of queries of one head.
struct ForwardTask {
  std::int64_t sequence = 0;
  std::int64_t head = 0;
  std::int64_t block = 0;
};

struct ForwardViews {
  View qkv;
  View out;
  View lse;
};

/// Against all keys it may see.
void forward_block(const AttentionShape& shape, const ForwardViews& views, const ForwardTask& task,
                   float* tile_memory) {
  const View qkv = views.qkv;
  const std::int64_t head = task.head;
  const std::int64_t width = shape.heads.width;
  const Heads& heads = shape.heads;
  const std::int64_t base = task.sequence * shape.sequences.length;
  const std::int64_t first = task.block * kQueryRows;
  const std::int64_t rows = std::min(kQueryRows, shape.sequences.length - first);
  const View queries = head_rows(qkv, base + first, rows, heads.query_col(head), width);
  const View result = head_rows(views.out, base + first, rows, head * width, width);
  std::array<float, kQueryRows> maxima;
  std::array<float, kQueryRows> sums;
  std::array<float, kQueryRows> factors;
  maxima.fill(-std::numeric_limits<float>::infinity());
  sums.fill(0.0F);
  const std::int64_t visible = first + rows;
  const std::int64_t begin = first_key(shape, first);
  for (std::int64_t key = begin; key < visible; key += kKeyCols) {
    const std::int64_t cols = std::min(kKeyCols, visible - key);
    const ScoreTile tile = score_tile(shape, head, tile_view(tile_memory, rows, cols), first - key);
    multiply_serial({.transpose_b = true,
                     .a = queries,
                     .b = head_rows(qkv, base + key, cols, heads.key_col(head), width),
                     .c = tile.scores});
    softmax_tile(tile, maxima.data(), sums.data(), factors.data());
    if (key > begin) {
      scale_rows(result, factors.data());
    }
    multiply_serial({.a = tile.scores,
                     .b = head_rows(qkv, base + key, cols, heads.value_col(head), width),
                     .c = result,
                     .accumulate = key > begin});
  }
  float* log_sums = views.lse.f32() + head * views.lse.stride + base + first;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    factors[i] = 1.0F / sums[i];
    log_sums[row] = maxima[i] + std::log(sums[i]);
  }
  scale_rows(result, factors.data());
}

/// The key blocks of one split: blocks are dealt out forth and back, so that each split gets as
/// many score tiles as the others although later blocks are seen by fewer queries.
bool in_split(std::int64_t block, std::int64_t split, std::int64_t splits) {
  const std::int64_t place = block % splits;
  return split == ((block / splits) % 2 == 0 ? place : splits - 1 - place);
}

/// What one task of the backward pass works on.
struct BackwardTask {
  std::int64_t sequence = 0;
  std::int64_t split = 0;
  std::int64_t splits = 1;
  std::int64_t first_row = 0;  ///< of the query chunk, within the sequence
  std::int64_t end_row = 0;
  std::int64_t head = 0;
  bool first_head = false;  ///< of those that share the key head
  View dquery;              ///< [tokens, H*E]
};

/// Columns of a query head's gradient: as in qkv where it is part of dqkv, packed elsewhere.
std::int64_t dquery_col(const AttentionShape& shape, const BackwardTask& task) {
  return task.split == 0 ? shape.heads.query_col(task.head) : task.head * shape.heads.width;
}

void backward_chunk(const AttentionShape& shape, const AttentionGradient& views,
                    const BackwardTask& task, float* tile_memory) {
  const Heads& heads = shape.heads;
  const std::int64_t width = heads.width;
  const std::int64_t window = shape.scoring.window;
  const std::int64_t base = task.sequence * shape.sequences.length;
  const std::int64_t chunk_rows = task.end_row - task.first_row;
  const std::int64_t head_col = task.head * width;
  const std::int64_t key_col = heads.key_col(task.head);
  const std::int64_t value_col = heads.value_col(task.head);
  std::array<float, kQueryChunk> delta;
  dot_rows(head_rows(views.dout, base + task.first_row, chunk_rows, head_col, width),
           head_rows(views.out, base + task.first_row, chunk_rows, head_col, width), delta.data());
  if (window > 0) {
    // The block that would begin the sums may lie outside the window of some rows.
    fill_rows(
        head_rows(task.dquery, base + task.first_row, chunk_rows, dquery_col(shape, task), width),
        0.0F);
  }
  const std::int64_t begin = first_key(shape, task.first_row) / kKeyBlock;
  for (std::int64_t block = begin; block * kKeyBlock < task.end_row; ++block) {
    if (!in_split(block, task.split, task.splits)) {
      continue;
    }
    const std::int64_t key = block * kKeyBlock;
    const std::int64_t keys = std::min(kKeyBlock, shape.sequences.length - key);
    const std::int64_t first = std::max(task.first_row, key);
    const std::int64_t end =
        window == 0 ? task.end_row : std::min(task.end_row, key + keys - 1 + window);
    const std::int64_t rows = end - first;
    if (rows <= 0) {
      continue;
    }
    const View q = head_rows(views.qkv, base + first, rows, heads.query_col(task.head), width);
    const View k = head_rows(views.qkv, base + key, keys, key_col, width);
    const View v = head_rows(views.qkv, base + key, keys, value_col, width);
    const View dout = head_rows(views.dout, base + first, rows, head_col, width);
    const View p = tile_view(tile_memory, rows, keys);
    const View ds = tile_view(tile_memory + kQueryChunk * kKeyBlock, rows, keys);
    multiply_serial({.transpose_b = true, .a = q, .b = k, .c = p});
    multiply_serial({.transpose_b = true, .a = dout, .b = v, .c = ds});
    softmax_backward_tile(score_tile(shape, task.head, p, first - key), ds,
                          views.lse.f32() + task.head * views.lse.stride + base + first,
                          delta.data() + (first - task.first_row));
    // The first chunk that sees this block starts its sums, as does the first block of a split for
    // the queries.
    const bool seen = !(task.first_head && first == key);
    multiply_serial({.transpose_a = true,
                     .a = p,
                     .b = dout,
                     .c = head_rows(views.dqkv, base + key, keys, value_col, width),
                     .accumulate = seen});
    multiply_serial({.transpose_a = true,
                     .a = ds,
                     .b = q,
                     .c = head_rows(views.dqkv, base + key, keys, key_col, width),
                     .accumulate = seen});
    multiply_serial(
        {.a = ds,
         .b = k,
         .c = head_rows(task.dquery, base + first, rows, dquery_col(shape, task), width),
         .accumulate = window > 0 || block != task.split});
  }
}

/// Query gradient of one split: the first writes to dqkv, the others to their part of `partials`.
View split_dquery(const AttentionShape& shape, View dqkv, std::int64_t split, float* partials) {
  const std::int64_t cols = shape.heads.query_cols();
  const std::int64_t tokens = shape.sequences.tokens();
  return split == 0 ? dqkv : tile_view(partials + (split - 1) * tokens * cols, tokens, cols);
}

/// The heads of a row of partial gradients lie packed, those of dqkv as qkv has them.
void add_heads(const Heads& heads, View from, View dqkv_row) {
  if (!heads.interleaved) {
    add_rows(from, dqkv_row.col_range(0, heads.query_cols()));
    return;
  }
  for (std::int64_t head = 0; head < heads.query; ++head) {
    add_rows(from.col_range(head * heads.width, heads.width),
             dqkv_row.col_range(heads.query_col(head), heads.width));
  }
}

void add_split_gradients(ThreadPool& pool, const AttentionShape& shape, View dqkv,
                         std::int64_t splits, float* partials) {
  const std::int64_t length = shape.sequences.length;
  pool.for_range(shape.sequences.tokens(), 8, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t split = 1; split < splits; ++split) {
      const View from = split_dquery(shape, dqkv, split, partials);
      for (std::int64_t row = begin; row < end; ++row) {
        // Queries before a split's first key block see none of its keys.
        if (row % length >= split * kKeyBlock) {
          add_heads(shape.heads, from.row_range(row, 1), dqkv.row_range(row, 1));
        }
      }
    }
  });
}

}  // namespace

std::int64_t attention_workspace(const Heads& heads, const Sequences& sequences, int threads) {
  // Fewer sequences may be split more often.
  std::int64_t partials = 0;
  for (std::int64_t count = 1; count <= sequences.count; ++count) {
    partials = std::max(
        partials, partial_floats(heads, {.count = count, .length = sequences.length}, threads));
  }
  return threads * kTileFloats + partials;
}

void attention_forward(ThreadPool& pool, const AttentionShape& shape, View qkv, View out, View lse,
                       float* workspace) {
  const std::int64_t blocks = blocks_of(shape.sequences.length, kQueryRows);
  const std::int64_t per_block = shape.sequences.count * shape.heads.query;
  // Blocks that see most keys first, so that the last tasks are short.
  pool.for_each_task(blocks * per_block, [&](std::int64_t task, int thread) {
    forward_block(shape, {qkv, out, lse},
                  {.sequence = task % per_block / shape.heads.query,
                   .head = task % shape.heads.query,
                   .block = blocks - 1 - task / per_block},
                  workspace + thread * kTileFloats);
  });
}

void attention_backward(ThreadPool& pool, const AttentionShape& shape,
                        const AttentionGradient& views, float* workspace) {
  const Heads& heads = shape.heads;
  const std::int64_t splits = key_splits(heads, shape.sequences, pool.size());
  const std::int64_t group = heads.query / heads.key_value;
  float* const partials = workspace + pool.size() * kTileFloats;
  const std::int64_t units = shape.sequences.count * heads.key_value;
  // One task owns some keys of one kv-head and adds to their gradients in a fixed order.
  pool.for_each_task(units * splits, [&](std::int64_t index, int thread) {
    const std::int64_t unit = index / splits;
    BackwardTask task{.sequence = unit / heads.key_value,
                      .split = index % splits,
                      .splits = splits,
                      .dquery = split_dquery(shape, views.dqkv, index % splits, partials)};
    const std::int64_t first_head = unit % heads.key_value * group;
    for (std::int64_t row = 0; row < shape.sequences.length; row += kQueryChunk) {
      task.first_row = row;
      task.end_row = std::min(row + kQueryChunk, shape.sequences.length);
      for (task.head = first_head; task.head < first_head + group; ++task.head) {
        task.first_head = task.head == first_head;
        backward_chunk(shape, views, task, workspace + thread * kTileFloats);
      }
    }
  });
  if (splits > 1) {
    add_split_gradients(pool, shape, views.dqkv, splits, partials);
  }
}

}  // namespace tunebench::engine::cpu
