#include "tunebench/measure/measured_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tunebench/base/text.h"

namespace tunebench::measure {
namespace {

using record::Record;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

StepCounts sum(const std::vector<StepCounts>& steps) {
  StepCounts total;
  for (const StepCounts& step : steps) {
    total += step;
  }
  return total;
}

void set_hello_fields(Record& record, const trainer::HelloEvent& hello) {
  if (record.trainer_version.empty()) {
    record.trainer_version = hello.version;
  }
  if (!hello.device.empty()) {
    record.set("device", hello.device);
  }
  if (!hello.isa.empty()) {
    record.set("isa", hello.isa);
  }
  static constexpr std::array<std::string_view, 8> kKept = {
      "threads",    "compute_dtype",      "recompute",       "weights",
      "parameters", "trained_parameters", "flops_per_token", "differences"};
  for (const auto& [name, text] : hello.notes) {
    if (std::ranges::find(kKept, name) == kKept.end()) {
      continue;
    }
    const record::Field* field = record::find_field(name);
    if (field->type == record::FieldType::Text) {
      record.set(name, text);
    } else if (field->type == record::FieldType::Integer && parse_int(text).has_value()) {
      record.set(name, *parse_int(text));
    } else if (field->type == record::FieldType::Real && parse_real(text).has_value()) {
      record.set(name, *parse_real(text));
    }
  }
}

void set_memory_fields(Record& record, const trainer::MemoryEvent& memory) {
  if (memory.device_peak_bytes > 0) {
    record.set("device_peak_bytes", memory.device_peak_bytes);
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kParts = {{
      {"weights", "weights_bytes"},
      {"gradients", "gradients_bytes"},
      {"optimizer", "optimizer_bytes"},
      {"activations", "activations_bytes"},
      {"scratch", "scratch_bytes"},
  }};
  std::int64_t arena = 0;
  for (const auto& [part, bytes] : memory.parts) {
    for (const auto& [name, field] : kParts) {
      if (part == name) {
        record.set(field, bytes);
        arena += bytes;
      }
    }
  }
  if (arena > 0) {
    record.set("arena_bytes", arena);
  }
}

/// From the begin of phase load to the begin of the next.
void set_load_time(Record& record, const std::vector<trainer::PhaseEvent>& phases) {
  for (std::size_t i = 0; i + 1 < phases.size(); ++i) {
    if (phases[i].name == "load") {
      record.set("load_s", seconds(phases[i + 1].t - phases[i].t));
      return;
    }
  }
}

}  // namespace

void set_if_known(Record& record, std::string_view field, const std::optional<double>& value) {
  if (value.has_value()) {
    record.set(field, *value);
  }
}

std::int64_t host_peak_bytes(const Observed& seen) {
  const std::int64_t told = seen.memory.has_value() ? seen.memory->host_peak_bytes : 0;
  const std::int64_t counted = seen.exit.peak_resident_bytes;
  const std::int64_t known = std::max(told, seen.tree_peak_bytes);
  return known > 0 && counted <= seen.own_peak_resident_bytes ? known : std::max(known, counted);
}

void set_window_fields(Record& record, const Window::Result& window) {
  if (window.timed_steps.empty()) {
    return;
  }
  const StepCounts timed = sum(window.timed_steps);
  const StepCounts warmup = sum(window.warmup_steps);
  const auto [shortest_step, longest_step] =
      std::ranges::minmax_element(window.timed_steps, {}, &StepCounts::duration_ns);
  const auto steps = static_cast<std::int64_t>(window.timed_steps.size());
  const double computed_per_s = static_cast<double>(timed.tokens) / timed.seconds();
  record.set("tokens_per_s", static_cast<double>(timed.tokens_nonpad) / timed.seconds());
  record.set("tokens_per_s_computed", computed_per_s);
  record.set("timed_s", timed.seconds());
  record.set("steps", steps);
  record.set("samples", timed.samples);
  record.set("tokens", timed.tokens);
  record.set("tokens_nonpad", timed.tokens_nonpad);
  record.set("tokens_trained", timed.tokens_trained);
  record.set("step_s", median_step_s(window.timed_steps));
  record.set("step_s_mean", timed.seconds() / static_cast<double>(steps));
  record.set("step_s_min", shortest_step->seconds());
  record.set("step_s_max", longest_step->seconds());
  record.set("warmup", warmup_name(window.warmup));
  record.set("warmup_steps", static_cast<std::int64_t>(window.warmup_steps.size()));
  record.set("warmup_s", warmup.seconds());
  const std::optional<double> flops = record.number("flops_per_token");
  if (flops.has_value()) {
    record.set("gflops", *flops * computed_per_s / 1e9);
  }
}

void set_run_fields(Record& record, const Tally& tally) {
  const StepCounts& totals = tally.totals();
  record.set("steps_total", tally.steps());
  record.set("samples_total", totals.samples);
  record.set("tokens_total", totals.tokens);
  record.set("tokens_nonpad_total", totals.tokens_nonpad);
  record.set("tokens_trained_total", totals.tokens_trained);
  record.set("nonfinite_steps", tally.nonfinite_steps());
  if (tally.steps() == 0) {
    return;
  }
  set_if_known(record, "loss_first", tally.first()->loss);
  set_if_known(record, "loss_last", tally.last()->loss);
  set_if_known(record, "grad_norm_first", tally.first()->grad_norm);
  set_if_known(record, "grad_norm_last", tally.last()->grad_norm);
  set_if_known(record, "learning_rate_last", tally.last()->learning_rate);
  const double train_s = tally.train_s();
  record.set("train_runtime", train_s);
  if (record.status != record::Outcome::Ok) {
    return;
  }
  const auto gpus = record.inputs.find("number_gpus");
  const double devices = gpus != record.inputs.end() && gpus->second.is_int()
                             ? static_cast<double>(std::max<std::int64_t>(1, gpus->second.as_int()))
                             : 1.0;
  const auto set_rate = [&](const char* name, std::int64_t count, double divisor) {
    record.set(name, static_cast<double>(count) / train_s / divisor);
  };
  set_rate("train_samples_per_second", totals.samples, 1);
  set_rate("train_steps_per_second", tally.steps(), 1);
  set_rate("train_tokens_per_second", totals.tokens, 1);
  set_rate("train_tokens_per_gpu_per_second", totals.tokens, devices);
  set_rate("dataset_tokens_per_second", totals.tokens_nonpad, 1);
  set_rate("dataset_tokens_per_second_per_gpu", totals.tokens_nonpad, devices);
}

void set_process_fields(Record& record, const Observed& seen, const Tally& tally) {
  if (seen.hello.has_value()) {
    set_hello_fields(record, *seen.hello);
  }
  if (seen.memory.has_value()) {
    set_memory_fields(record, *seen.memory);
  }
  const std::int64_t host_peak = host_peak_bytes(seen);
  if (host_peak > 0) {
    record.set("host_peak_bytes", host_peak);
  }
  const Json& device_peak = record.get("device_peak_bytes");
  if (!device_peak.is_null() || host_peak > 0) {
    record.set("peak_mem_bytes", device_peak.is_null() ? Json(host_peak) : device_peak);
  }
  set_load_time(record, seen.phases);
  const double wall_s = seconds(seen.ended_ns - seen.started_ns);
  record.set("wall_s", wall_s);
  // Steps of a simulated trainer may take longer than the clock that waits for them.
  if (wall_s >= tally.totals().seconds()) {
    record.set("overhead_s", wall_s - tally.totals().seconds());
  }
  if (tally.first().has_value()) {
    record.set("setup_s", seconds(tally.first()->t0 - seen.started_ns));
  }
}

}  // namespace tunebench::measure
