// How much of a training step's time its matrix products would take alone. The last line of stdout
// is a JSON object; what is in the floor stands in roof.h.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/counters.h"
#include "bench/one_line.h"
#include "bench/recording_ops.h"
#include "bench/roof.h"
#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/json.h"
#include "tunebench/base/random.h"
#include "tunebench/data/batch.h"
#include "tunebench/engine/methods/method.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/model/model_source.h"

namespace tunebench::bench {
namespace {

struct Options {
  std::string model = "smollm2-135m";
  std::int64_t length = 512;
  std::int64_t batch = 1;
  std::string recompute = "none";
  std::string method = "full";
  std::int64_t rank = 8;
  std::string targets;
  int threads = 0;
  int steps = 5;
};

struct Round {
  double step_s = 0;
  double roof_s = 0;
};

template <typename Body>
double seconds_of(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

data::MicroBatch random_batch(const Options& options, const model::ModelSpec& spec) {
  data::MicroBatch batch;
  batch.samples = options.batch;
  batch.length = options.length;
  const auto vocabulary = static_cast<std::uint64_t>(spec.vocabulary);
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(
        static_cast<std::int32_t>(uniform_int(1, 0, static_cast<std::uint64_t>(i), vocabulary)));
  }
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    const bool last = (i + 1) % batch.length == 0;
    batch.labels.push_back(last ? data::kIgnoredLabel : batch.ids[static_cast<std::size_t>(i) + 1]);
  }
  batch.tokens_nonpad = batch.tokens();
  batch.tokens_trained = batch.tokens() - batch.samples;
  return batch;
}

engine::Recompute rung_of(const std::string& name) {
  for (const engine::Recompute rung : {engine::Recompute::None, engine::Recompute::Activation,
                                       engine::Recompute::Norm, engine::Recompute::Block}) {
    if (engine::recompute_name(rung) == name) {
      return rung;
    }
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("unknown recompute rung {}; use none, activation, norm or block", name));
}

/// As the LoRA experiment has it: queries and values unless told otherwise, dropout 0.05.
std::shared_ptr<const engine::Method> method_of(const Options& options) {
  if (options.method == "full") {
    return nullptr;
  }
  if (options.method == "lora") {
    return engine::make_method(
        Json::object(
            {{"peft_type", "LORA"},
             {"r", options.rank},
             {"lora_alpha", 16},
             {"lora_dropout", 0.05},
             {"target_modules", options.targets.empty() ? Json() : Json(options.targets)}}),
        "--method");
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("unknown method {}; use full or lora", options.method));
}

engine::FineTuningOptions tuning_options(const Options& options, const model::ModelSpec& spec,
                                         const engine::Ops& ops) {
  engine::FineTuningOptions tuning;
  tuning.max_samples = options.batch;
  tuning.max_length = options.length;
  tuning.schedule = {.kind = "constant", .peak = 1e-5, .total_steps = 1000};
  tuning.method = method_of(options);
  const engine::Recompute rung = rung_of(options.recompute);
  if (rung != engine::Recompute::None) {
    // The mildest rung that fits is taken: give it room for just this one.
    tuning.memory_bytes = engine::FineTuning::plan(spec, tuning, rung, ops).bytes;
  }
  return tuning;
}

/// A preset, a folder, or the config.json of a shape without weights.
model::ModelSource source_of(const std::string& name) {
  if (!name.ends_with(".json")) {
    return model::resolve_model(name);
  }
  model::ModelSource source;
  source.spec = model::parse_model_config(read_json_file(name), name);
  return source;
}

int run(const Options& options) {
  const model::ModelSource source = source_of(options.model);
  auto owned = std::make_unique<RecordingOps>(engine::make_cpu_ops(options.threads));
  RecordingOps& ops = *owned;
  const engine::FineTuningOptions tuning = tuning_options(options, source.spec, ops);
  engine::FineTuning model(source, tuning, std::move(owned));
  const std::vector<data::MicroBatch> batches = {random_batch(options, source.spec)};

  // Not counted: touches all memory, makes the kernels.
  const double first_s = seconds_of([&] { model.step(batches); });
  ops.restart();
  model.step(batches);
  const std::int64_t resident = peak_resident_bytes();
  Roof roof(ops, ops.threads());
  roof.run();

  std::vector<Round> rounds;
  std::int64_t page_faults = 0;
  std::int64_t allocations = 0;
  std::array<double, RecordingOps::kKinds> kinds{};
  for (int i = 0; i < options.steps; ++i) {
    ops.restart();
    Round round;
    const std::int64_t faults_before = page_faults_so_far();
    const std::int64_t allocations_before = allocations_so_far();
    round.step_s = seconds_of([&] { model.step(batches); });
    allocations += allocations_so_far() - allocations_before;
    page_faults += page_faults_so_far() - faults_before;
    round.roof_s = seconds_of([&] { roof.run(); });
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      kinds[kind] += ops.seconds()[kind] / options.steps;
    }
    fmt::print("step {:.4f} s, products {:.4f} s, share {:.3f}\n", round.step_s, round.roof_s,
               round.roof_s / round.step_s);
    rounds.push_back(round);
  }

  std::vector<double> shares;
  std::vector<double> step_s;
  std::vector<double> roof_s;
  for (const Round& round : rounds) {
    shares.push_back(round.roof_s / round.step_s);
    step_s.push_back(round.step_s);
    roof_s.push_back(round.roof_s);
  }
  nlohmann::ordered_json parts;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    parts[std::string(RecordingOps::kind_name(kind))] = kinds[kind];
  }
  const double tokens = static_cast<double>(batches.front().tokens());
  const nlohmann::ordered_json result = {
      {"model", options.model},
      {"length", options.length},
      {"batch", options.batch},
      {"method", options.method},
      {"trained_parameters", model.trained_parameters()},
      {"recompute", engine::recompute_name(model.recompute())},
      {"isa", ops.isa()},
      {"threads", ops.threads()},
      {"steps", options.steps},
      {"share_of_floor", median(shares)},
      {"tokens_per_s", tokens / median(step_s)},
      {"matrix_gflops", roof.flops() / median(roof_s) * 1e-9},
      {"step_s", median(step_s)},
      {"products_s", median(roof_s)},
      {"product_flops_per_step", roof.flops()},
      {"first_step_s", first_s},
      {"mean_seconds_by_kind", parts},
      {"page_faults_per_step", static_cast<double>(page_faults) / options.steps},
      {"allocations_per_step", static_cast<double>(allocations) / options.steps},
      {"peak_resident_bytes", resident},
      {"planned_bytes", model.planned().bytes},
  };
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  tunebench::bench::Options options;
  CLI::App app("One training step against the sum of its matrix products.");
  app.add_option("--model", options.model, "preset, folder, or config.json")->capture_default_str();
  app.add_option("--length", options.length, "tokens of a sequence")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--batch", options.batch, "sequences of a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--recompute", options.recompute, "none, activation, norm or block")
      ->capture_default_str();
  app.add_option("--method", options.method, "full or lora")->capture_default_str();
  app.add_option("--rank", options.rank, "of LoRA")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--targets", options.targets,
                 "of LoRA: all-linear or an expression; queries and values");
  app.add_option("--threads", options.threads, "0: all usable cores")->capture_default_str();
  app.add_option("--steps", options.steps, "timed steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure(
      "step_bench", [&options] { return tunebench::bench::run(options); });
}
