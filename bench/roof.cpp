#include "bench/roof.h"

#include <algorithm>
#include <utility>

#include "tunebench/engine/ops/cpu/gemm.h"

namespace tunebench::bench {
namespace {

using engine::DType;
using engine::Matrix;
using engine::View;
using engine::cpu::multiply_serial;

constexpr std::int64_t kBlock = 64;
// Keys of one forward tile; longer rows take several.
constexpr std::int64_t kKeysAtOnce = 512;
// Queries of one backward tile.
constexpr std::int64_t kQueriesAtOnce = 256;

void fill_with_numbers(Matrix& matrix) {
  const View view = matrix.view();
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    view.f32()[i] = static_cast<float>(i % 31 - 15) * 0.01F;
  }
}

double product_flops(std::int64_t rows, std::int64_t cols, std::int64_t inner) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(inner);
}

std::int64_t blocks_of(std::int64_t length) {
  return (length + kBlock - 1) / kBlock;
}

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// Forward: the keys that a block of queries sees; backward: the queries that see a block of keys.
Range others_of(const RecordedAttention& attention, std::int64_t first, std::int64_t rows) {
  const std::int64_t length = attention.sequences.length;
  const std::int64_t reach = attention.window == 0 ? length : attention.window - 1;
  return attention.backward ? Range{first, std::min(length, first + rows + reach)}
                            : Range{std::max<std::int64_t>(0, first - reach), first + rows};
}

}  // namespace

Roof::Roof(RecordingOps& ops, int threads) : ops_(ops.inner()), pool_(threads) {
  for (const RecordedProduct& product : ops.products()) {
    add_product(product);
  }
  for (const RecordedAttention& attention : ops.attentions()) {
    add_attention(attention);
  }
  for (const RecordedExperts& experts : ops.experts()) {
    add_experts(experts);
  }
  for (int thread = 0; thread < threads; ++thread) {
    tiles_.emplace_back(2, kBlock * kKeysAtOnce, DType::F32);
    fill_with_numbers(tiles_.back());
  }
}

std::size_t Roof::memory_of(std::int64_t rows, std::int64_t cols) {
  memory_.emplace_back(rows, cols, DType::F32);
  fill_with_numbers(memory_.back());
  return memory_.size() - 1;
}

void Roof::add_product(const RecordedProduct& product) {
  flops_ += product_flops(product.rows, product.cols, product.inner);
  for (Group& group : groups_) {
    if (group.product == product) {
      ++group.count;
      return;
    }
  }
  const auto [rows, cols, inner] = std::tuple(product.rows, product.cols, product.inner);
  groups_.push_back({.product = product,
                     .count = 1,
                     .a = product.transpose_a ? memory_of(inner, rows) : memory_of(rows, inner),
                     .b = product.transpose_b ? memory_of(cols, inner) : memory_of(inner, cols),
                     .c = memory_of(rows, cols)});
}

void Roof::add_attention(const RecordedAttention& attention) {
  attentions_.push_back(attention);
  const std::int64_t length = attention.sequences.length;
  double cells = 0;
  for (std::int64_t block = 0; block < blocks_of(length); ++block) {
    const std::int64_t first = block * kBlock;
    const std::int64_t rows = std::min(kBlock, length - first);
    const Range others = others_of(attention, first, rows);
    cells += static_cast<double>(rows * (others.end - others.begin));
  }
  const double heads = static_cast<double>(attention.sequences.count * attention.heads.query);
  flops_ += (attention.backward ? 5.0 : 2.0) * 2.0 * cells * heads *
            static_cast<double>(attention.heads.width);
  if (fused_ == nullptr || fused_->view().rows < attention.sequences.tokens()) {
    fused_ = std::make_unique<Matrix>(attention.sequences.tokens(), attention.heads.fused_cols(),
                                      DType::F32);
    fill_with_numbers(*fused_);
    fused_gradient_ = std::make_unique<Matrix>(attention.sequences.tokens(),
                                               attention.heads.fused_cols(), DType::F32);
  }
}

/// One memory for all calls that ask for these sizes.
std::size_t Roof::shared_memory_of(std::int64_t rows, std::int64_t cols) {
  for (const ExpertCall& call : expert_calls_) {
    for (const std::size_t index : {call.inputs, call.outputs, call.weights}) {
      if (memory_[index].view().rows == rows && memory_[index].view().cols == cols) {
        return index;
      }
    }
  }
  return memory_of(rows, cols);
}

void Roof::add_experts(const RecordedExperts& experts) {
  const std::int64_t visits = experts.begins.back();
  const std::int64_t count = std::ssize(experts.begins) - 1;
  flops_ += product_flops(visits, experts.outputs, experts.inputs);
  ExpertCall call{experts};
  call.inputs = shared_memory_of(visits, experts.inputs);
  call.outputs = shared_memory_of(visits, experts.outputs);
  call.weights = shared_memory_of(count * experts.outputs, experts.inputs);
  expert_calls_.push_back(std::move(call));
}

void Roof::run_experts(std::size_t index) {
  ExpertCall& call = expert_calls_[index];
  const auto count = std::ssize(call.experts.begins);
  // Products look at nothing but the begins, and at the number of visits.
  engine::Visits visits;
  visits.begins = {call.experts.begins.data(), DType::I32, 1, count, count};
  visits.tokens = {nullptr, DType::I32, 1, call.experts.begins.back(), 0};
  const View inputs = memory_[call.inputs].view();
  const View outputs = memory_[call.outputs].view();
  const View weights = memory_[call.weights].view();
  switch (call.experts.kind) {
    case RecordedExperts::Kind::Forward:
      return ops_.expert_products(true, inputs, weights, visits, outputs);
    case RecordedExperts::Kind::Input:
      return ops_.expert_products(false, outputs, weights, visits, inputs);
    case RecordedExperts::Kind::Weight:
      return ops_.expert_weight_gradients(outputs, inputs, visits, weights,
                                          call.experts.accumulate);
  }
}

void Roof::run() {
  for (const Group& group : groups_) {
    for (std::int64_t i = 0; i < group.count; ++i) {
      ops_.gemm(group.product.transpose_a, group.product.transpose_b, memory_[group.a].view(),
                memory_[group.b].view(), memory_[group.c].view(), group.product.accumulate);
    }
  }
  for (std::size_t i = 0; i < expert_calls_.size(); ++i) {
    run_experts(i);
  }
  for (const RecordedAttention& attention : attentions_) {
    run_attention(attention);
  }
}

void Roof::run_attention(const RecordedAttention& attention) {
  const std::int64_t blocks = blocks_of(attention.sequences.length);
  const std::int64_t heads = attention.heads.query;
  const std::int64_t sequences = attention.sequences.count;
  pool_.for_each_task(blocks * sequences * heads, [&](std::int64_t task, int thread) {
    // The longest first: late query blocks see most keys, early key blocks are seen by most.
    const std::int64_t place = task / (sequences * heads);
    const std::int64_t block = attention.backward ? place : blocks - 1 - place;
    run_tiles(attention, task / heads % sequences, task % heads, block, thread);
  });
}

void Roof::run_tiles(const RecordedAttention& attention, std::int64_t sequence, std::int64_t head,
                     std::int64_t block, int thread) {
  const std::int64_t length = attention.sequences.length;
  const std::int64_t width = attention.heads.width;
  const std::int64_t first = block * kBlock;
  const std::int64_t rows = std::min(kBlock, length - first);
  const auto part = [&](Matrix& matrix, std::int64_t row, std::int64_t count) {
    return matrix.view().row_range(sequence * length + row, count).col_range(head * width, width);
  };
  const auto tile = [&](std::int64_t index, std::int64_t tile_rows, std::int64_t tile_cols) {
    return View{tiles_[static_cast<std::size_t>(thread)].view().row_range(index, 1).f32(),
                DType::F32, tile_rows, tile_cols, tile_cols};
  };
  const View own = part(*fused_, first, rows);
  const View own_gradient = part(*fused_gradient_, first, rows);
  const auto [begin, end] = others_of(attention, first, rows);
  const std::int64_t step = attention.backward ? kQueriesAtOnce : kKeysAtOnce;
  for (std::int64_t other = begin; other < end; other += step) {
    const std::int64_t count = std::min(step, end - other);
    const View others = part(*fused_, other, count);
    if (!attention.backward) {
      const View scores = tile(0, rows, count);
      multiply_serial({.transpose_b = true, .a = own, .b = others, .c = scores});
      multiply_serial({.a = scores, .b = others, .c = own_gradient, .accumulate = other > begin});
      continue;
    }
    const View p = tile(0, count, rows);
    const View ds = tile(1, count, rows);
    multiply_serial({.transpose_b = true, .a = others, .b = own, .c = p});
    multiply_serial({.transpose_b = true, .a = others, .b = own, .c = ds});
    multiply_serial(
        {.transpose_a = true, .a = p, .b = others, .c = own_gradient, .accumulate = true});
    multiply_serial(
        {.transpose_a = true, .a = ds, .b = others, .c = own_gradient, .accumulate = true});
    // Into the thread's own block, since other tasks work on the same queries.
    multiply_serial({.a = ds, .b = own, .c = tile(0, count, width)});
  }
}

}  // namespace tunebench::bench
