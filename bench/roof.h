#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/recording_ops.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/core/matrix.h"

namespace tunebench::bench {

/// The floor of a step's time: its matrix products and nothing else, at the same sizes.
///
/// In it are every product that the step asked its backend for (projections, feed-forward, head;
/// forward, input and weight gradients, what is recomputed), and of attention the products of the
/// score tiles that causality and window leave: blocks of 64 queries by the keys they may see
/// (scores, values), in the backward pass blocks of 64 keys by the queries that see them (five
/// products). Experts' products are called as the step calls them, all experts of a layer at once,
/// with the numbers of visits that it had. Not in it: softmax, norms, activations, embedding, loss,
/// gradient norm, optimizer. Operands of equal sizes share memory, so they are warmer in the caches
/// than the step's own.
class Roof {
 public:
  Roof(RecordingOps& ops, int threads);

  /// Computes all products once.
  void run();

  [[nodiscard]] double flops() const { return flops_; }

 private:
  struct Group {
    RecordedProduct product;
    std::int64_t count = 0;
    std::size_t a = 0;
    std::size_t b = 0;
    std::size_t c = 0;
  };
  void add_product(const RecordedProduct& product);
  void add_attention(const RecordedAttention& attention);
  void run_attention(const RecordedAttention& attention);
  void run_tiles(const RecordedAttention& attention, std::int64_t sequence, std::int64_t head,
                 std::int64_t block, int thread);
  void add_experts(const RecordedExperts& experts);
  void run_experts(std::size_t index);
  std::size_t shared_memory_of(std::int64_t rows, std::int64_t cols);
  std::size_t memory_of(std::int64_t rows, std::int64_t cols);

  engine::Ops& ops_;
  ThreadPool pool_;
  std::vector<Group> groups_;
  std::vector<RecordedAttention> attentions_;
  /// A call for experts and its operands: as many rows as visits, one matrix for each expert.
  struct ExpertCall {
    RecordedExperts experts;
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t weights = 0;
  };
  std::vector<ExpertCall> expert_calls_;
  std::vector<engine::Matrix> memory_;
  std::vector<engine::Matrix> tiles_;  ///< one per thread
  std::unique_ptr<engine::Matrix> fused_;
  std::unique_ptr<engine::Matrix> fused_gradient_;
  double flops_ = 0;
};

}  // namespace tunebench::bench
