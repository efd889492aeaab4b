#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/data/batch.h"
#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/methods/method.h"
#include "tunebench/engine/nn/recompute.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/optim/schedule.h"
#include "tunebench/model/model_source.h"

namespace tunebench::engine {

struct FineTuningOptions {
  std::int64_t max_samples = 1;  ///< largest micro-batch
  std::int64_t max_length = 512;
  std::string torch_dtype =
      "bfloat16";                 ///< weights are rounded to it when loaded; masters are float32
  std::uint64_t seed = 1;         ///< of random weights, of what a method adds, of dropout
  bool allow_recompute = true;    ///< gradient_checkpointing
  std::int64_t memory_bytes = 0;  ///< what may be used; 0: no bound
  bool exceed_memory = false;     ///< when no rung fits, take the smallest instead of failing
  double weight_decay = 0.0;
  double max_grad_norm = 1.0;  ///< <= 0: no clipping
  Schedule schedule;
  std::shared_ptr<const Method> method;  ///< nullptr: the whole model is trained
  std::filesystem::path adapter;         ///< folder whose tensors the method begins with; or empty
  std::vector<std::int32_t> beginning_tokens;  ///< of Method::beginning_text()
};

struct StepResult {
  /// Sum of losses / trained tokens of the whole step, NaN when none; and for each micro-batch the
  /// loss of its unbalanced experts, which is not divided by their number.
  double loss = 0;
  double grad_norm = 0;  ///< 2-norm over all parameters before clipping
  double learning_rate = 0;
  bool finite = true;  ///< false: the update was skipped
};

/// Fine-tuning of a model of one of model::families(), whole or with a method: owns weights,
/// gradients, moments and activations, all planned before the first step. After the first step
/// nothing is allocated.
/// Errors: OutOfMemory with the bytes needed and available when no allowed rung fits; those of
/// SafetensorsSet and load_adapter while loading; those of Method::training.
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
  /// The plan of the mildest rung that fits: what the constructor would take. Takes milliseconds
  /// and reads no weights. Errors: OutOfMemory as the constructor.
  static Plan choose(const model::ModelSpec& spec, const FineTuningOptions& options,
                     const Ops& ops);

  /// One optimizer step over its micro-batches. Gradients are divided by the trained tokens of all
  /// of them together. A step whose loss or gradient norm is not finite leaves the weights alone.
  /// Errors: InvalidInput for a token id outside the vocabulary or a micro-batch larger than
  /// planned.
  StepResult step(std::span<const data::MicroBatch> micro_batches);

  /// logits [tokens, V] of a micro-batch, whole: for looking at a model.
  void logits(const data::MicroBatch& batch, View logits);

  [[nodiscard]] Recompute recompute() const;
  [[nodiscard]] const Plan& planned() const;
  [[nodiscard]] std::vector<Arena::Part> memory_parts() const;
  [[nodiscard]] std::int64_t memory_high_water() const;
  [[nodiscard]] const Ops& ops() const;

  /// Writes a PEFT folder; only with a method. Errors: Io.
  void save_adapter(const std::filesystem::path& folder, std::string_view base_model) const;
  [[nodiscard]] std::int64_t trained_parameters() const;

  /// A tensor under its Hugging Face name, one that a method adds under PEFT's, and its gradient in
  /// the last step (before clipping). A frozen one has none: no rows. Errors: NotFound.
  [[nodiscard]] View parameter(std::string_view name) const;
  [[nodiscard]] View gradient(std::string_view name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tunebench::engine
