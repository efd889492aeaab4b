#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tunebench/data/batch.h"
#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/model/model_source.h"

namespace tunebench::engine {

/// What is kept from forward to backward, mildest first. Each rung drops what the one before it
/// drops and more; `refill` rebuilds it with the same kernels, so gradients are the same bits.
enum class Recompute {
  None,        ///< everything is kept
  Activation,  ///< the SwiGLU output is rebuilt
  Norm,        ///< also both normalised inputs
  Block,       ///< only each block's input is kept
};
std::string_view recompute_name(Recompute rung);

/// Learning rate of a step; HF's convention: the first step of a warm-up has rate 0.
/// Source: transformers.optimization get_cosine_schedule_with_warmup, get_linear_...,
/// get_constant_...
struct Schedule {
  std::string kind = "cosine";  ///< cosine, linear, constant
  double peak = 1e-5;
  std::int64_t total_steps = 1;
  std::int64_t warmup_steps = 0;
  /// step is 0-based. Always finite, never above the peak.
  [[nodiscard]] double rate(std::int64_t step) const;
};
/// ceil(ratio * total_steps).
std::int64_t warmup_steps(double ratio, std::int64_t total_steps);

struct FineTuningOptions {
  std::int64_t max_samples = 1;  ///< largest micro-batch
  std::int64_t max_length = 512;
  std::string torch_dtype =
      "bfloat16";                 ///< weights are rounded to it when loaded; masters are float32
  std::uint64_t seed = 1;         ///< of random weights
  bool allow_recompute = true;    ///< gradient_checkpointing
  std::int64_t memory_bytes = 0;  ///< what may be used; 0: no bound
  double weight_decay = 0.0;
  double max_grad_norm = 1.0;  ///< <= 0: no clipping
  Schedule schedule;
};

struct StepResult {
  double loss = 0;       ///< sum of losses / trained tokens of the whole step; NaN when none
  double grad_norm = 0;  ///< 2-norm over all parameters before clipping
  double learning_rate = 0;
  bool finite = true;  ///< false: the update was skipped
};

/// Full fine-tuning of a Llama-family model: owns weights, gradients, moments and activations,
/// all planned before the first step. After the first step nothing is allocated.
/// Errors: OutOfMemory with the bytes needed and available when no allowed rung fits; those of
/// SafetensorsSet while loading.
class FineTuning {
 public:
  FineTuning(const model::ModelSource& source, const FineTuningOptions& options,
             std::unique_ptr<Ops> ops);
  ~FineTuning();

  /// Bytes each rung needs, by part, without making anything.
  struct Plan {
    Recompute rung = Recompute::None;
    std::int64_t bytes = 0;
    std::vector<Arena::Part> parts;
  };
  static Plan plan(const model::ModelSpec& spec, const FineTuningOptions& options, Recompute rung,
                   const Ops& ops);

  /// One optimizer step over its micro-batches.
  StepResult step(std::span<const data::MicroBatch> micro_batches);

  [[nodiscard]] Recompute recompute() const;
  [[nodiscard]] const Plan& planned() const;
  [[nodiscard]] std::vector<Arena::Part> memory_parts() const;
  [[nodiscard]] std::int64_t memory_high_water() const;
  [[nodiscard]] const Ops& ops() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tunebench::engine
