#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

Field real(std::string name, std::string unit, Better better, std::string meaning) {
  return {std::move(name), FieldType::Real, std::move(unit), better, std::move(meaning)};
}

Field integer(std::string name, std::string unit, Better better, std::string meaning) {
  return {std::move(name), FieldType::Integer, std::move(unit), better, std::move(meaning)};
}

Field text(std::string name, std::string meaning) {
  return {std::move(name), FieldType::Text, "", Better::Neither, std::move(meaning)};
}

using Fields = std::vector<Field>;

void add_timed_window(Fields& table) {
  using enum Better;
  table.insert(
      table.end(),
      {
          real("tokens_per_s", "tokens/s", Higher,
               "tokens_nonpad / timed_s: the headline; padding is not counted"),
          real("tokens_per_s_computed", "tokens/s", Higher,
               "tokens / timed_s: padding is counted, as it costs arithmetic too"),
          real("timed_s", "s", Neither,
               "sum of the durations of the timed steps; loading, warm-up and the time between "
               "steps are not in it"),
          integer("steps", "steps", Neither, "optimizer steps in the timed window"),
          integer("samples", "samples", Neither, "dataset entries in the timed window"),
          integer("tokens", "tokens", Neither,
                  "tokens computed in the timed window, padding included"),
          integer("tokens_nonpad", "tokens", Neither,
                  "tokens of the timed window that are not padding"),
          integer("tokens_trained", "tokens", Neither,
                  "positions of the timed window that have a loss"),
          real("step_s", "s", Lower, "median duration of a timed step"),
          real("step_s_mean", "s", Lower, "mean duration of a timed step: timed_s / steps"),
          real("step_s_min", "s", Lower, "shortest timed step"),
          real("step_s_max", "s", Lower, "longest timed step"),
          text("warmup",
               "how warm-up ended: steady (step time settled), capped (limit reached first), short "
               "(the run was too short to settle), none (no step was left out), auto_stop (as "
               "auto_stop_method says)"),
          real("cost_per_mtok", "price/Mtoken", Lower,
               "price per hour of --price x max(1, number_gpus) / (tokens_per_s x 3600) x 1e6; "
               "worked out when shown, never stored"),
          text(
              "auto_stop",
              "with auto_stop_method: satisfied (its rule ended the run; every rate is that of the "
              "timed window) or training ended first (then warm-up and rates are as without it)"),
          integer("warmup_steps", "steps", Neither, "steps before the timed window"),
          real("warmup_s", "s", Neither, "sum of the durations of the warm-up steps"),
      });
}

void add_whole_run(Fields& table) {
  using enum Better;
  table.insert(
      table.end(),
      {
          integer("steps_total", "steps", Neither, "optimizer steps of the whole run"),
          integer("samples_total", "samples", Neither, "dataset entries of the whole run"),
          integer("tokens_total", "tokens", Neither,
                  "tokens computed in the whole run, padding included"),
          integer("tokens_nonpad_total", "tokens", Neither,
                  "tokens of the whole run that are not padding"),
          integer("tokens_trained_total", "tokens", Neither,
                  "positions of the whole run that have a loss"),
          real("train_runtime", "s", Neither,
               "from the begin of the first optimizer step to the end of the last, warm-up "
               "included"),
          real("train_samples_per_second", "samples/s", Higher,
               "samples_total / train_runtime: samples trained, not samples planned"),
          real("train_steps_per_second", "steps/s", Higher,
               "steps_total / train_runtime: steps made, not steps planned"),
          real("train_tokens_per_second", "tokens/s", Higher,
               "tokens_total / train_runtime: padding is counted"),
          real("train_tokens_per_gpu_per_second", "tokens/s", Higher,
               "train_tokens_per_second / max(1, number_gpus)"),
          real("dataset_tokens_per_second", "tokens/s", Higher,
               "tokens_nonpad_total / train_runtime: dataset tokens really trained, padding not "
               "counted"),
          real("dataset_tokens_per_second_per_gpu", "tokens/s", Higher,
               "dataset_tokens_per_second / max(1, number_gpus)"),
      });
}

void add_learning(Fields& table) {
  using enum Better;
  table.insert(table.end(),
               {
                   real("loss_first", "nats/token", Neither,
                        "loss of the first step of the run, mean over trained tokens"),
                   real("loss_last", "nats/token", Neither, "loss of the last step of the run"),
                   real("grad_norm_first", "", Neither,
                        "2-norm of the gradient of the first step, before clipping"),
                   real("grad_norm_last", "", Neither,
                        "2-norm of the gradient of the last step, before clipping"),
                   integer("nonfinite_steps", "steps", Lower,
                           "steps of the run whose loss or gradient norm is not a finite number"),
                   real("learning_rate_last", "", Neither, "learning rate of the last step"),
               });
}

void add_memory(Fields& table) {
  using enum Better;
  table.insert(
      table.end(),
      {
          integer("peak_mem_bytes", "bytes", Lower,
                  "device_peak_bytes where the trainer tells it, else host_peak_bytes: what the "
                  "hardware must have"),
          integer(
              "host_peak_bytes", "bytes", Lower,
              "largest resident memory over the whole run: of the trainer's process and all its "
              "descendants together as sampled (pages they share count in each), or of one of "
              "them as the system counted, whichever is more"),
          integer("device_peak_bytes", "bytes", Lower,
                  "largest accelerator memory in use as the trainer tells; absent on a CPU"),
          integer("arena_bytes", "bytes", Lower,
                  "memory that the trainer planned: the sum of the five parts below"),
          integer("weights_bytes", "bytes", Lower, "of arena_bytes: weights"),
          integer("gradients_bytes", "bytes", Lower, "of arena_bytes: gradients"),
          integer("optimizer_bytes", "bytes", Lower, "of arena_bytes: optimizer moments"),
          integer("activations_bytes", "bytes", Lower,
                  "of arena_bytes: what is kept from forward to backward"),
          integer("scratch_bytes", "bytes", Lower, "of arena_bytes: buffers used within a layer"),
          integer("needed_bytes", "bytes", Neither,
                  "when the point did not fit: what it would have taken"),
      });
}

/// The reference's twelve: first the mean over the window's time for each device, then the
/// smallest, mean and largest over the devices.
void add_gpu_ranges(Fields& table) {
  struct Reading {
    const char* name;
    const char* unit;
    const char* meaning;
  };
  static constexpr std::array<Reading, 4> kReadings{{
      {"gpu_compute_utilization", "%", "share of the time in which a kernel ran"},
      {"gpu_memory_utilization", "%", "memory in use of the device's memory"},
      {"gpu_power_watts", "W", "power drawn"},
      {"gpu_power_percent", "%", "power drawn of the enforced limit"},
  }};
  for (const Reading& reading : kReadings) {
    for (const auto& [suffix, over] :
         {std::pair{"_min", "smallest"}, std::pair{"_avg", "mean"}, std::pair{"_max", "largest"}}) {
      table.push_back(real(std::string(reading.name) + suffix, reading.unit, Better::Neither,
                           fmt::format("{}, mean over the timed window of each GPU: the {} over "
                                       "the GPUs in use; absent without a GPU",
                                       reading.meaning, over)));
    }
  }
}

void add_gpus(Fields& table) {
  using enum Better;
  add_gpu_ranges(table);
  table.insert(
      table.end(),
      {
          real("gpu_memory_utilization_peak", "%", Neither,
               "largest share of a device's memory in use at any time of the run, by whomever"),
          integer("gpu_memory_peak_bytes", "bytes", Lower,
                  "the same in bytes: what the driver counts, caches of an allocator included"),
          real("gpu_temperature_max_c", "degC", Lower, "hottest GPU in use in the timed window"),
          real("gpu_clock_mhz", "MHz", Neither,
               "clock of the multiprocessors, mean over the timed window and the GPUs in use"),
          real("gpu_throttled_percent", "%", Lower,
               "share of the timed window in which a GPU in use was slowed down by heat or power, "
               "the largest over the GPUs"),
          text("gpu_throttle_reasons", "what slowed a GPU in use down in the timed window"),
      });
}

void add_machine(Fields& table) {
  using enum Better;
  table.insert(
      table.end(),
      {
          real("cpu_compute_utilization", "%", Neither,
               "CPU time of the trainer's process and its descendants in the timed window over its "
               "length; 100 is one core busy all the time"),
          real("cpu_percent_of_usable", "%", Neither,
               "the same over the cores that the trainer may use (affinity and control group); 100 "
               "is all of them busy all the time"),
          real("cpu_cores_used", "cores", Neither, "cpu_compute_utilization / 100"),
          real("other_cores_used", "cores", Lower,
               "cores kept busy by everything else on the machine in the timed window"),
          real(
              "cpu_memory_utilization", "%", Neither,
              "resident_mean_bytes of the memory that the trainer may use: that of the machine, or "
              "the limit of its control group where that is less"),
          integer("resident_mean_bytes", "bytes", Neither,
                  "resident memory of the trainer's process and its descendants, mean over the "
                  "timed window"),
          integer("page_faults_minor", "", Neither,
                  "page faults of the process tree in the timed window that needed no disk"),
          integer("page_faults_major", "", Lower,
                  "page faults of the process tree in the timed window that waited for a disk"),
          real("cpu_clock_mhz", "MHz", Neither, "clock, mean over the timed window and the cores"),
          integer("cpu_throttle_events", "", Lower,
                  "times a core was slowed down by heat in the timed window"),
          real("cpu_package_energy_j", "J", Lower,
               "energy of the CPU packages over the timed window (RAPL), whoever used it"),
          real("energy_j", "J", Lower,
               "energy over the timed window, between steps included: what energy_source names"),
          text("energy_source",
               "what is in energy_j: gpu counter, gpu power (integrated over time), cpu package"),
          real("j_per_token", "J/token", Lower, "energy_j / tokens_nonpad"),
          real("tokens_per_j", "tokens/J", Higher, "tokens_nonpad / energy_j"),
          integer(
              "telemetry_samples", "", Neither,
              "looks at the machine in the timed window; with fewer than two there is no figure "
              "of this kind"),
          text("telemetry_missing", "what the system did not tell, and why"),
          text("busy", "what else ran on the machine or the GPUs before the measurement began"),
      });
}

void add_trainer_facts(Fields& table) {
  using enum Better;
  table.insert(
      table.end(),
      {
          text("device", "what computed: cpu"),
          text("isa", "instruction set that the kernels ran with: avx2, avx512"),
          integer("threads", "", Neither, "threads that computed"),
          text("compute_dtype", "type of the arithmetic: float32 on a CPU whatever torch_dtype is"),
          text("recompute",
               "what backward rebuilt: none, activation, norm, block (mildest that fits)"),
          text("weights", "where the weights came from: loaded or random"),
          text("differences", "in what the trainer's work is not that of others at this point"),
          integer("parameters", "", Neither, "weights of the model; a tied head counts once"),
          integer("trained_parameters", "", Neither,
                  "weights that are trained: all of the model, or those of the method"),
          real("flops_per_token", "FLOP/token", Neither,
               "arithmetic of forward and backward per token at model_max_length, recompute not "
               "counted"),
          real("gflops", "GFLOP/s", Higher, "flops_per_token x tokens_per_s_computed / 1e9"),
          real("roof_gflops", "GFLOP/s", Neither,
               "fastest of some large float32 matrix products of this trainer on this machine, "
               "measured once a run"),
          real("mfu", "", Higher,
               "gflops / roof_gflops: the share of the measured roof that training reaches; "
               "recompute is not counted; absent when above 1, as the machine was then disturbed "
               "while the roof was measured"),
      });
}

void add_whole_process(Fields& table) {
  using enum Better;
  table.insert(table.end(),
               {
                   real("load_s", "s", Lower,
                        "phase load: reading or drawing the weights and planning memory"),
                   real("setup_s", "s", Lower,
                        "from the start of the trainer process to the begin of its first step"),
                   real("wall_s", "s", Neither, "from the start of the trainer process to its end"),
                   real("overhead_s", "s", Lower,
                        "wall_s without the steps: starting, loading, saving, ending"),
                   text("failed_phase", "when it failed: the phase it was in"),
                   integer("failed_step", "steps", Neither, "when it failed: the step it was in"),
                   text("log_tail", "when it failed: the last lines of the trainer's output"),
               });
}

Fields make_fields() {
  Fields table;
  add_timed_window(table);
  add_whole_run(table);
  add_learning(table);
  add_memory(table);
  add_machine(table);
  add_gpus(table);
  add_trainer_facts(table);
  add_whole_process(table);
  return table;
}

}  // namespace

const std::vector<Field>& fields() {
  static const Fields kTable = make_fields();
  return kTable;
}

const Field* find_field(std::string_view name) {
  const Fields& table = fields();
  const auto found = std::ranges::find(table, name, &Field::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tunebench::record
