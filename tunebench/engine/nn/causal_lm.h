#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tunebench/data/batch.h"
#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/block_spec.h"
#include "tunebench/engine/nn/decoder_block.h"
#include "tunebench/engine/nn/head.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/nn/recompute.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// A decoder-only language model: embedding, blocks, final normalisation, head.
///
/// All memory comes from the arena: what is kept from forward to backward when it is made, the
/// rest as scratch inside a call. Nothing is allocated in a call.
class CausalLM {
 public:
  struct Options {
    Sequences largest;  ///< largest micro-batch
    Recompute recompute = Recompute::None;
    std::int64_t chunk_rows = Head::kChunkRows;
    /// Rows [P, D] that stand at positions 0 ... P - 1 before the tokens of each sequence; nullptr:
    /// none. They predict nothing.
    const Parameter* prompt = nullptr;
  };

  /// `parameters` and `arena` must outlive this object.
  CausalLM(const model::ModelSpec& spec, const Parameters& parameters, const Options& options,
           Arena& arena);

  struct Losses {
    double tokens = 0;  ///< sum over trained tokens
    double router = 0;  ///< of unbalanced experts, over all layers and real tokens, times its share
  };
  /// Forward and backward of one micro-batch. Gradients are those of tokens * gradient_scale +
  /// router, added to what is there when `accumulate` is set. Ids and labels must lie in the
  /// vocabulary, the batch within `largest`.
  Losses forward_backward(Ops& ops, const data::MicroBatch& batch, double gradient_scale,
                          bool accumulate, const Chance& chance = {});

  /// logits [tokens, V] of a batch, whole, without those of the prompt: for looking at a model, not
  /// for training.
  void logits(Ops& ops, const data::MicroBatch& batch, View logits);

  /// Takes the scratch that forward_backward of the largest batch takes, and computes nothing.
  /// The arena must be planning.
  void dry_run();

  /// For Ops::workspace_bytes.
  [[nodiscard]] Extents extents() const;

 private:
  struct Input {
    Sequences sequences;
    std::span<const std::int32_t> ids;
    TrainedRows trained;
    std::span<const std::int32_t> lengths;  ///< of samples without their padding; empty: all whole
    [[nodiscard]] RealTokens real() const { return {sequences, lengths}; }
  };
  [[nodiscard]] std::int64_t virtual_tokens() const {
    return options_.prompt == nullptr ? 0 : options_.prompt->value.rows;
  }
  [[nodiscard]] Input find_trained_rows(const data::MicroBatch& batch);
  /// Frequencies that follow the length are made anew when it changes.
  void follow_length(std::int64_t length);
  void embed(const Exec& exec, const Input& input, View stream);
  void embed_after_prompt(const Exec& exec, const Input& input, View embedded);
  void prompt_backward(const Exec& exec, const Input& input, View dembedded);
  void embed_backward(const Exec& exec, const Input& input, View dstream);
  void forward(const Exec& exec, const Input& input);
  double backward(const Exec& exec, const Input& input, double gradient_scale);
  /// The loss of unbalanced experts; its slope goes to router_slope_.
  double router_loss(const Exec& exec, const Input& input);
  [[nodiscard]] DecoderBlock::Saved saved(std::size_t layer, const Sequences& sequences) const;

  model::ModelSpec spec_;
  Options options_;
  Sequences largest_;  ///< with the prompt
  const Parameters& parameters_;
  Arena& arena_;
  RopeTables rope_;
  std::int64_t rope_class_ = 0;  ///< of the length that the table is for
  BlockSpec block_spec_;         ///< of the first layer; the sizes are those of all
  std::vector<DecoderBlock> blocks_;
  Norm embedding_norm_;
  Norm final_norm_;
  Head head_;

  std::vector<DecoderBlock::Saved> saved_;
  View embedded_;  ///< before its norm, if it has one
  View embedded_stats_;
  View final_input_;  ///< the stream after the last block
  View final_stats_;
  View hidden_;  ///< its normalisation: what the head reads

  View expert_load_;   ///< of Ops::add_expert_load; with a router loss only
  View router_slope_;  ///< the same: [1, N]

  std::vector<std::int32_t> real_lengths_;  ///< of samples, with the prompt
  std::vector<std::int32_t> trained_rows_;
  std::vector<std::int32_t> trained_labels_;
};

}  // namespace tunebench::engine
