// Whether the rate of a run agrees with a stopwatch outside the training process: a run of the
// native trainer that is stopped early is measured as always, while this process notes with its own
// clock when each step's event arrives. The last line of stdout is a JSON object.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/one_line.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/files.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/measure/measure.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::bench {
namespace {

using Seconds = std::chrono::duration<double>;

struct Arrival {
  std::chrono::steady_clock::time_point time;
  std::int64_t tokens_nonpad = 0;
};

/// Passes everything on and notes when steps arrive.
class StampedRun final : public trainer::Running {
 public:
  StampedRun(std::unique_ptr<trainer::Running> inner, std::vector<Arrival>& arrivals)
      : inner_(std::move(inner)), arrivals_(arrivals) {}
  std::optional<trainer::Event> next_event(std::chrono::nanoseconds timeout) override {
    std::optional<trainer::Event> event = inner_->next_event(timeout);
    if (event.has_value()) {
      if (const auto* step = std::get_if<trainer::StepEvent>(&*event)) {
        arrivals_.push_back({std::chrono::steady_clock::now(), step->tokens_nonpad});
      }
    }
    return event;
  }
  [[nodiscard]] bool stream_ended() const override { return inner_->stream_ended(); }
  [[nodiscard]] pid_t pid() const override { return inner_->pid(); }
  [[nodiscard]] std::int64_t dropped_lines() const override { return inner_->dropped_lines(); }
  void request_stop() override { inner_->request_stop(); }
  void kill() override { inner_->kill(); }
  ExitStatus wait(std::chrono::nanoseconds timeout) override { return inner_->wait(timeout); }

 private:
  std::unique_ptr<trainer::Running> inner_;
  std::vector<Arrival>& arrivals_;
};

class StampedTrainer final : public trainer::Trainer {
 public:
  StampedTrainer(const std::string& program, std::vector<Arrival>& arrivals)
      : inner_(trainer::make_native_trainer(program)), arrivals_(arrivals) {}
  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] std::string version() const override { return inner_->version(); }
  std::unique_ptr<trainer::Running> start(const trainer::Job& job) override {
    return std::make_unique<StampedRun>(inner_->start(job), arrivals_);
  }

 private:
  std::unique_ptr<trainer::Trainer> inner_;
  std::vector<Arrival>& arrivals_;
};

struct Options {
  std::string program;
  std::string model = "tiny";
  std::int64_t length = 256;
  std::int64_t stop_after_s = 10;
};

experiment::Point make_point(const Options& options) {
  Diagnostics problems;
  const std::vector<experiment::Point> points =
      experiment::expand(*experiment::find_experiment("finetune_full_benchmark-v1.0.0"),
                         {{"model_name", {Json(options.model)}},
                          {"model_max_length", {Json(options.length)}},
                          {"batch_size", {Json(1)}},
                          {"stop_after_seconds", {Json(options.stop_after_s)}}},
                         problems);
  if (points.size() != 1) {
    throw std::runtime_error(problems.empty() ? "no point" : problems.front().line());
  }
  return points.front();
}

int run(const Options& options) {
  std::vector<Arrival> arrivals;
  StampedTrainer trainer(options.program, arrivals);
  const TemporaryFolder folder("stopwatch-");
  measure::Request request;
  request.point = make_point(options);
  request.log_file = folder.path() / "log";
  measure::StopFlag stop;
  const record::Record record =
      measure::measure_point(request, trainer, system_clock(), stop, nullptr);
  if (!record.is_valid()) {
    fmt::print(stderr, "the run failed: {}\n", record.reason);
    return 1;
  }
  // From the arrival of the last warm-up step to that of the last timed one.
  const auto warmup = static_cast<std::size_t>(record.get("warmup_steps").as_int());
  const auto steps = static_cast<std::size_t>(record.get("steps").as_int());
  std::int64_t tokens = 0;
  for (std::size_t i = warmup; i < warmup + steps; ++i) {
    tokens += arrivals[i].tokens_nonpad;
  }
  const double outside_s =
      Seconds(arrivals[warmup + steps - 1].time - arrivals[warmup - 1].time).count();
  const double outside = static_cast<double>(tokens) / outside_s;
  const double told = record.number("tokens_per_s").value();
  nlohmann::json result{{"tokens_per_s", told},
                        {"outside_tokens_per_s", outside},
                        {"difference_percent", 100.0 * (told / outside - 1.0)},
                        {"steps", steps},
                        {"timed_s", record.number("timed_s").value()},
                        {"outside_s", outside_s}};
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  tunebench::bench::Options options;
  CLI::App app("compares the rate of an early-stopped run with a stopwatch outside of it");
  app.add_option("--program", options.program, "the program whose native trainer is started")
      ->required();
  app.add_option("--model", options.model, "preset or folder");
  app.add_option("--length", options.length, "model_max_length");
  app.add_option("--stop-after-seconds", options.stop_after_s, "stop_after_seconds");
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure(
      "stopwatch_bench", [&options] { return tunebench::bench::run(options); });
}
