#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/data/batch.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/model_tokenizer.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/trainer/control.h"
#include "tunebench/trainer/event_writer.h"
#include "tunebench/trainer/job.h"
#include "tunebench/trainer/point_method.h"
#include "tunebench/trainer/process_memory.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

constexpr int kFailed = 1;

std::int64_t now_ns() {
  return system_clock().now().count();
}

/// What a point's model, data and engine need, made once in phase load.
struct Setup {
  model::ModelSource source;
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::unique_ptr<data::Dataset> dataset;
  std::unique_ptr<data::BatchSource> batches;
  std::unique_ptr<engine::FineTuning> tuning;
  std::int64_t steps = 0;
  std::int64_t length = 0;  ///< what samples are cut to
};

double real_or(const experiment::Point& point, const std::string& name, double absent) {
  const auto found = point.inputs.find(name);
  return found == point.inputs.end() || found->second.is_null() ? absent
                                                                : found->second.as_double();
}

std::string text_or(const experiment::Point& point, const std::string& name, std::string absent) {
  const auto found = point.inputs.find(name);
  return found == point.inputs.end() || found->second.is_null() ? std::move(absent)
                                                                : found->second.as_string();
}

std::uint64_t seed_of(const experiment::Point& point) {
  const auto found = point.inputs.find("seed");
  return found == point.inputs.end() ? 1 : static_cast<std::uint64_t>(found->second.as_int());
}

/// The job's bound, else the point's own.
std::int64_t memory_bound(const Job& job) {
  return job.memory_bytes > 0
             ? job.memory_bytes
             : static_cast<std::int64_t>(real_or(job.point, "memory_limit_gib", 0) * 1073741824.0);
}

/// Values that the reference system fixes for every experiment stand here as what they are there.
engine::FineTuningOptions engine_options(const Job& job, const Setup& setup) {
  const std::int64_t steps = setup.steps;
  const experiment::Point& point = job.point;
  engine::FineTuningOptions options;
  options.max_samples = device_batch_size(point);
  options.max_length = setup.length;
  options.torch_dtype = point.text("torch_dtype");
  options.seed = seed_of(point);
  options.allow_recompute = point.boolean("gradient_checkpointing");
  options.memory_bytes = memory_bound(job);
  options.exceed_memory = job.force;
  options.weight_decay = real_or(point, "weight_decay", 0.0);
  options.max_grad_norm = real_or(point, "max_grad_norm", 1.0);
  options.schedule.kind = text_or(point, "lr_scheduler_type", "cosine");
  options.schedule.peak = real_or(point, "learning_rate", 1e-5);
  options.schedule.total_steps = steps;
  options.schedule.warmup_steps = engine::warmup_steps(real_or(point, "warmup_ratio", 0.03), steps);
  options.method = method_of(point);
  if (options.method != nullptr && setup.tokenizer != nullptr) {
    const std::string text = options.method->beginning_text();
    options.beginning_tokens = setup.tokenizer->encode(text, true);
  }
  return options;
}

data::BatchOptions batch_options(const experiment::Point& point, const Setup& setup) {
  data::BatchOptions options;
  options.batch_size = device_batch_size(point);
  options.accumulation = point.integer("gradient_accumulation_steps");
  options.max_length = setup.length;
  options.response_template = text_or(point, "response_template", "");
  // Padding stays the id 0 that every vocabulary has: nothing reads it, since labels there are
  // ignored and attention is causal, and the pad_token_id of real files may be -1.
  return options;
}

/// The least that the point would take, for the record of a point that did not fit.
std::int64_t smallest_need(const model::ModelSpec& spec, const engine::FineTuningOptions& options) {
  const engine::Recompute rung =
      options.allow_recompute ? engine::Recompute::Block : engine::Recompute::None;
  const std::unique_ptr<engine::Ops> ops = engine::make_cpu_ops(1);
  return engine::FineTuning::plan(spec, options, rung, *ops).bytes;
}

/// Refuses a point that does not fit before anything large is read. needed_bytes becomes what the
/// point takes.
void check_memory(const Job& job, const Setup& setup, const engine::Ops& ops,
                  std::int64_t& needed_bytes) {
  const engine::FineTuningOptions options = engine_options(job, setup);
  try {
    needed_bytes = engine::FineTuning::choose(setup.source.spec, options, ops).bytes;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory) {
      throw;
    }
    needed_bytes = smallest_need(setup.source.spec, options);
    throw Error(ErrorCode::OutOfMemory,
                fmt::format("needs {}, may use {}; --force tries anyway, a lower batch_size or "
                            "model_max_length needs less{}",
                            format_bytes(needed_bytes), format_bytes(options.memory_bytes),
                            options.allow_recompute ? "" : ", as does gradient_checkpointing"));
  }
}

Setup load(const Job& job, std::int64_t& needed_bytes) {
  const experiment::Point& point = job.point;
  Setup setup;
  setup.source = model::resolve_model(point.text("model_name"));
  setup.length = data::effective_length(setup.source, point.integer("model_max_length"));
  std::unique_ptr<engine::Ops> ops = engine::make_cpu_ops();
  check_memory(job, setup, *ops, needed_bytes);
  setup.tokenizer = data::resolve_tokenizer(setup.source);
  setup.dataset = data::resolve_dataset(
      point.text("dataset_id"), text_or(point, "dataset_text_field", "output"), *setup.tokenizer);
  setup.batches = std::make_unique<data::BatchSource>(*setup.dataset, *setup.tokenizer,
                                                      batch_options(point, setup));
  setup.steps =
      job.planned_steps > 0 ? job.planned_steps : planned_steps(point, setup.dataset->size());
  setup.tuning = std::make_unique<engine::FineTuning>(setup.source, engine_options(job, setup),
                                                      std::move(ops));
  return setup;
}

/// Trains and tells. Knows where it is, for the error event.
class Worker {
 public:
  Worker(EventWriter& events, const Control* control) : events_(events), control_(control) {}

  void run(const Job& job) {
    enter_phase("load");
    Setup setup = load(job, needed_bytes_);
    tell_hello(setup, job.point);
    enter_phase("train");
    const double stop_after = real_or(job.point, "stop_after_seconds", -1.0);
    const std::int64_t begin = now_ns();
    std::int64_t end = begin;
    while (
        step_ < setup.steps && !stop_requested() &&
        !(step_ > 0 && stop_after >= 0 && static_cast<double>(end - begin) / 1e9 >= stop_after)) {
      end = train_step(setup);
      if (step_ == 1) {
        tell_memory(*setup.tuning);
      }
    }
    tell_memory(*setup.tuning);
    events_.write(EndEvent{.status = "ok", .steps = step_});
  }

  void tell_error(const char* kind, const std::string& message) {
    events_.write(
        ErrorEvent{.kind = kind,
                   .message = printable(message),
                   .needed_bytes = std::string_view(kind) == "oom_host" ? needed_bytes_ : 0,
                   .phase = phase_,
                   .step = phase_ == "train" ? step_ + 1 : 0});
  }

 private:
  [[nodiscard]] bool stop_requested() const {
    return control_ != nullptr && control_->stop_requested();
  }

  void enter_phase(const char* name) {
    phase_ = name;
    events_.write(PhaseEvent{.name = phase_, .t = now_ns()});
  }

  void tell_hello(const Setup& setup, const experiment::Point& point) {
    const engine::Ops& ops = setup.tuning->ops();
    const model::ModelSpec& spec = setup.source.spec;
    const std::shared_ptr<const engine::Method> method = method_of(point);
    const double flops = engine::training_flops_per_token(method.get(), spec, setup.length);
    events_.write(HelloEvent{
        .trainer = "native",
        .version = build_info().version,
        .pid = ::getpid(),
        .device = "cpu",
        .isa = ops.isa(),
        .notes = {{"backend", std::string(ops.name())},
                  {"threads", std::to_string(ops.threads())},
                  {"compute_dtype", "float32"},
                  {"weights", setup.source.random_weights() ? "random" : "loaded"},
                  {"recompute", std::string(engine::recompute_name(setup.tuning->recompute()))},
                  {"parameters", std::to_string(model::parameter_count(spec))},
                  {"trained_parameters", std::to_string(setup.tuning->trained_parameters())},
                  {"flops_per_token", shortest(flops)},
                  {"length", std::to_string(setup.length)},
                  {"dataset", setup.dataset->name()},
                  {"tokenizer", setup.tokenizer->name()}}});
  }

  /// One optimizer step, making its batch included: what a stopwatch sees. Returns its end.
  std::int64_t train_step(Setup& setup) {
    StepEvent told;
    told.t0 = now_ns();
    const std::vector<data::MicroBatch> micro_batches = setup.batches->step(step_);
    const engine::StepResult result = setup.tuning->step(micro_batches);
    told.t1 = now_ns();
    told.n = ++step_;
    for (const data::MicroBatch& micro_batch : micro_batches) {
      told.samples += micro_batch.samples;
      told.tokens += micro_batch.tokens();
      told.tokens_nonpad += micro_batch.tokens_nonpad;
      told.tokens_trained += micro_batch.tokens_trained;
    }
    if (told.tokens_trained > 0) {
      told.loss = result.loss;  // a step that trains nothing has no loss, finite or not
    }
    told.grad_norm = result.grad_norm;
    told.learning_rate = result.learning_rate;
    events_.write(told);
    return told.t1;
  }

  void tell_memory(const engine::FineTuning& tuning) {
    MemoryEvent memory;
    memory.t = now_ns();
    memory.host_peak_bytes = peak_resident_bytes();
    for (const engine::Arena::Part& part : tuning.memory_parts()) {
      memory.parts.emplace_back(part.name, part.bytes);
    }
    events_.write(memory);
  }

  EventWriter& events_;
  const Control* control_;
  std::string phase_ = "start";
  std::int64_t step_ = 0;  ///< steps done
  std::int64_t needed_bytes_ = 0;
};

const char* outcome_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::OutOfMemory:
      return "oom_host";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::InvalidInput:
    case ErrorCode::NotFound:
    case ErrorCode::Unsupported:
    case ErrorCode::Corrupt:
      return "invalid_config";
    case ErrorCode::Device:
    case ErrorCode::Internal:
      break;
  }
  return "crashed";
}

int train_and_tell(Worker& worker, const std::string& job_json) {
  try {
    worker.run(parse_job(job_json));
    return 0;
  } catch (const Error& error) {
    worker.tell_error(outcome_of(error.code()), error.message());
  } catch (const std::bad_alloc&) {
    worker.tell_error("oom_host", "the system gave no more memory");
  } catch (const std::exception& error) {
    worker.tell_error("crashed", error.what());
  }
  return kFailed;
}

}  // namespace

std::int64_t native_memory(const model::ModelSource& source, const experiment::Point& point,
                           std::int64_t memory_bytes) {
  Setup setup;
  setup.source = source;
  setup.length = data::effective_length(source, point.integer("model_max_length"));
  setup.steps = 1;
  const engine::FineTuningOptions options =
      engine_options({.point = point, .memory_bytes = memory_bytes}, setup);
  const std::unique_ptr<engine::Ops> ops = engine::make_cpu_ops(1);
  try {
    return engine::FineTuning::choose(source.spec, options, *ops).bytes;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory) {
      throw;
    }
    return smallest_need(source.spec, options);
  }
}

int run_native_worker(const std::string& job_json) {
  flush_denormals_in_this_thread();
  EventWriter events = EventWriter::from_environment();
  const std::unique_ptr<Control> control = Control::of_worker();
  Worker worker(events, control.get());
  return train_and_tell(worker, job_json);
}

}  // namespace tunebench::trainer
