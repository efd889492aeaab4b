#include "tunebench/engine/train/fine_tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/methods/adapter_file.h"
#include "tunebench/engine/nn/causal_lm.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/optim/adamw.h"
#include "tunebench/engine/train/initial_weights.h"

namespace tunebench::engine {
namespace {

/// Everything that lives in an arena. Made the same way for planning and for training.
struct Network {
  Network(const model::ModelSpec& given, const FineTuningOptions& options, Recompute rung,
          const Ops& ops, Arena& arena)
      : method(options.method.get()),
        spec(method == nullptr ? given : method->shape(given)),
        parameters(spec, ops.dtype(), arena,
                   method == nullptr ? Training{} : method->training(spec)),
        adapters(attach()),
        model(spec, parameters,
              {.largest = {options.max_samples, options.max_length},
               .recompute = rung,
               .prompt = method == nullptr ? nullptr : method->prompt(parameters)},
              arena),
        workspace(take_workspace(ops, arena)) {}

  const Method* method;  ///< nullptr: the whole model is trained
  model::ModelSpec spec;
  Parameters parameters;
  std::vector<std::unique_ptr<Adapter>> adapters;
  CausalLM model;
  View workspace;

 private:
  [[nodiscard]] std::vector<std::unique_ptr<Adapter>> attach() {
    return method == nullptr ? std::vector<std::unique_ptr<Adapter>>()
                             : method->attach(spec, parameters);
  }
  [[nodiscard]] View take_workspace(const Ops& ops, Arena& arena) const {
    const auto element = static_cast<std::int64_t>(dtype_bytes(ops.dtype()));
    const std::int64_t bytes = ops.workspace_bytes(model.extents());
    return arena.persistent("workspace", 1, (bytes + element - 1) / element, ops.dtype());
  }
};

/// A plan together with what an arena has to reserve for it.
struct Reservation {
  FineTuning::Plan plan;
  std::int64_t persistent_bytes = 0;
  std::int64_t scratch_bytes = 0;
};

void check_options(const model::ModelSpec& spec, const FineTuningOptions& options) {
  TB_CHECK(options.max_samples > 0 && options.max_length > 0);
  const std::int64_t whole =
      options.max_length + (options.method == nullptr ? 0 : options.method->virtual_tokens());
  if (spec.positions == model::PositionKind::Learned && whole > spec.max_positions) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} positions with those of virtual tokens are more than the {} that "
                            "the model has learned; lower model_max_length or num_virtual_tokens",
                            whole, spec.max_positions));
  }
  // Rows are counted in 32 bits by gather and scatter.
  constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
  if (options.max_samples > kMostTokens / options.max_length) {
    throw Error(ErrorCode::OutOfMemory,
                fmt::format("a micro-batch of {} x {} tokens is beyond any memory; lower "
                            "batch_size or model_max_length",
                            options.max_samples, options.max_length));
  }
}

Reservation reserve_by_plan(const model::ModelSpec& spec, const FineTuningOptions& options,
                            Recompute rung, const Ops& ops) {
  check_options(spec, options);
  Arena arena = Arena::plan_only();
  Network network(spec, options, rung, ops, arena);
  network.model.dry_run();
  return {{rung, arena.high_water(), arena.report()},
          arena.persistent_bytes(),
          arena.scratch_high_water()};
}

std::string describe_parts(const std::vector<Arena::Part>& parts) {
  std::vector<std::string> words;
  for (const Arena::Part& part : parts) {
    if (part.bytes > 0) {
      words.push_back(fmt::format("{} {}", part.name, format_bytes(part.bytes)));
    }
  }
  return join(words, ", ");
}

/// The mildest rung that fits.
Reservation choose_rung(const model::ModelSpec& spec, const FineTuningOptions& options,
                        const Ops& ops) {
  Reservation smallest;
  for (const Recompute rung : kRecomputeLadder) {
    smallest = reserve_by_plan(spec, options, rung, ops);
    if (options.memory_bytes <= 0 || smallest.plan.bytes <= options.memory_bytes) {
      return smallest;
    }
    if (!options.allow_recompute) {
      break;
    }
  }
  if (options.exceed_memory) {
    return smallest;
  }
  throw Error(
      ErrorCode::OutOfMemory,
      fmt::format("batch_size {} x model_max_length {} needs {} bytes ({}; {}), {} bytes are "
                  "available; lower batch_size or model_max_length{}",
                  options.max_samples, options.max_length, with_thousands(smallest.plan.bytes),
                  format_bytes(smallest.plan.bytes), describe_parts(smallest.plan.parts),
                  with_thousands(options.memory_bytes),
                  options.allow_recompute ? "" : ", or allow gradient_checkpointing"));
}

std::int64_t count_trained(std::span<const data::MicroBatch> micro_batches) {
  std::int64_t trained = 0;
  for (const data::MicroBatch& batch : micro_batches) {
    trained += std::ssize(batch.labels) -
               std::count(batch.labels.begin(), batch.labels.end(), data::kIgnoredLabel);
  }
  return trained;
}

}  // namespace

struct FineTuning::State {
  State(const model::ModelSource& source, const FineTuningOptions& chosen,
        std::unique_ptr<Ops> backend)
      : options(chosen),
        ops(std::move(backend)),
        reservation(choose_rung(source.spec, options, *ops)),
        arena(Arena::reserve(reservation.persistent_bytes, reservation.scratch_bytes)),
        network(source.spec, options, reservation.plan.rung, *ops, arena),
        optimizer(options.weight_decay),
        vocabulary(source.spec.vocabulary) {}

  void check_batch(const data::MicroBatch& batch) const;

  FineTuningOptions options;
  std::unique_ptr<Ops> ops;
  Reservation reservation;
  Arena arena;
  Network network;
  Adamw optimizer;
  std::int64_t vocabulary;
  std::int64_t steps = 0;
};

void FineTuning::State::check_batch(const data::MicroBatch& batch) const {
  if (batch.samples > options.max_samples || batch.length > options.max_length) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("a micro-batch of {} x {} tokens is larger than the planned {} x {}",
                            batch.samples, batch.length, options.max_samples, options.max_length));
  }
  TB_CHECK(std::ssize(batch.ids) == batch.tokens() && std::ssize(batch.labels) == batch.tokens());
  const auto outside = [&](std::int32_t id) { return id < 0 || id >= vocabulary; };
  const auto refuse = [&](std::int32_t id) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("token id {} is outside the model's vocabulary of {}; the tokenizer "
                            "does not belong to this model",
                            id, vocabulary));
  };
  for (const std::int32_t id : batch.ids) {
    if (outside(id)) {
      refuse(id);
    }
  }
  for (const std::int32_t label : batch.labels) {
    if (label != data::kIgnoredLabel && outside(label)) {
      refuse(label);
    }
  }
}

FineTuning::FineTuning(const model::ModelSource& source, const FineTuningOptions& options,
                       std::unique_ptr<Ops> ops) {
  const WeightRounding rounding = weight_rounding(options.torch_dtype);
  static_cast<void>(options.schedule.rate(0));  // an unknown kind is refused before any work
  state_ = std::make_unique<State>(source, options, std::move(ops));
  State& state = *state_;
  state.ops->use_workspace(state.network.workspace);
  Network& network = state.network;
  if (source.random_weights()) {
    draw_weights(source.spec, options.seed, rounding, network.parameters);
  } else {
    load_weights(source, rounding, network.parameters);
  }
  if (!options.adapter.empty()) {
    TB_CHECK(network.method != nullptr);
    load_adapter(options.adapter, *network.method, network.spec, network.parameters);
  } else if (network.method != nullptr) {
    network.method->begin(network.spec, {options.seed, options.beginning_tokens},
                          network.parameters);
  }
  flush_denormals_in_this_thread();
}

FineTuning::~FineTuning() = default;

FineTuning::Plan FineTuning::plan(const model::ModelSpec& spec, const FineTuningOptions& options,
                                  Recompute rung, const Ops& ops) {
  return reserve_by_plan(spec, options, rung, ops).plan;
}

FineTuning::Plan FineTuning::choose(const model::ModelSpec& spec, const FineTuningOptions& options,
                                    const Ops& ops) {
  return choose_rung(spec, options, ops).plan;
}

StepResult FineTuning::step(std::span<const data::MicroBatch> micro_batches) {
  State& state = *state_;
  TB_CHECK(!micro_batches.empty());
  for (const data::MicroBatch& batch : micro_batches) {
    state.check_batch(batch);
  }
  const auto trained = static_cast<double>(count_trained(micro_batches));
  const double gradient_scale = trained > 0 ? 1.0 / trained : 0.0;

  CausalLM::Losses sum;
  bool accumulate = false;
  Chance chance{
      .drops = true, .seed = state.options.seed, .step = static_cast<std::uint64_t>(state.steps)};
  for (const data::MicroBatch& batch : micro_batches) {
    const CausalLM::Losses losses =
        state.network.model.forward_backward(*state.ops, batch, gradient_scale, accumulate, chance);
    sum.tokens += losses.tokens;
    sum.router += losses.router;
    accumulate = true;
    chance.first_row += batch.tokens();
  }

  StepResult result;
  result.loss =
      trained > 0 ? sum.tokens / trained + sum.router : std::numeric_limits<double>::quiet_NaN();
  result.grad_norm = gradient_norm(*state.ops, state.network.parameters.gradients());
  result.learning_rate = state.options.schedule.rate(state.steps++);
  result.finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  if (result.finite) {
    state.optimizer.update(*state.ops, state.network.parameters.trained(), result.learning_rate,
                           clip_scale(result.grad_norm, state.options.max_grad_norm));
  }
  return result;
}

void FineTuning::logits(const data::MicroBatch& batch, View logits) {
  state_->check_batch(batch);
  state_->network.model.logits(*state_->ops, batch, logits);
}

void FineTuning::save_adapter(const std::filesystem::path& folder,
                              std::string_view base_model) const {
  const Network& network = state_->network;
  TB_CHECK(network.method != nullptr);
  engine::save_adapter(folder, *network.method, network.spec, network.parameters, base_model);
}

std::int64_t FineTuning::trained_parameters() const {
  return state_->network.parameters.trained_elements();
}

Recompute FineTuning::recompute() const {
  return state_->reservation.plan.rung;
}

const FineTuning::Plan& FineTuning::planned() const {
  return state_->reservation.plan;
}

std::vector<Arena::Part> FineTuning::memory_parts() const {
  return state_->arena.report();
}

std::int64_t FineTuning::memory_high_water() const {
  return state_->arena.high_water();
}

const Ops& FineTuning::ops() const {
  return *state_->ops;
}

View FineTuning::parameter(std::string_view name) const {
  return state_->network.parameters.find(name).parameter.value;
}

View FineTuning::gradient(std::string_view name) const {
  return state_->network.parameters.find(name).parameter.gradient;
}

}  // namespace tunebench::engine
