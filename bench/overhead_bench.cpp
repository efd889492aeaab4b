// What measuring costs beside training: seconds per point, processor time of the controller, and
// how long a plan takes whose points are all known. Trainers are simulated. Last line: a JSON
// object.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <sys/resource.h>

#include "bench/one_line.h"
#include "tests/support/fake_clock.h"
#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/stats/summary.h"
#include "tunebench/store/store.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::bench {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double processor_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Notes how long each point took from its start to its stored record.
class Stopwatch final : public campaign::Observer {
 public:
  std::vector<double> seconds;
  void started(const store::Run&, std::int64_t, std::int64_t) override {}
  void measuring(const campaign::Position&) override { begin_ = steady_clock::now(); }
  void progress(const campaign::Position&, const measure::Progress&, double) override {}
  void measured(const campaign::Position&, const record::Record& record, bool) override {
    if (!record.is_valid()) {
      throw Error(ErrorCode::Internal, "a simulated run failed: " + record.reason);
    }
    seconds.push_back(seconds_since(begin_));
  }

 private:
  steady_clock::time_point begin_;
};

class Bench {
 public:
  /// Points of batch 1 to `points`, planned anew as `tunebench run` does.
  campaign::Result run(const trainer::Simulation& simulation, trainer::Trainer& trainer,
                       Clock& clock, std::int64_t points,
                       std::vector<experiment::GivenValues> more) {
    std::vector<Json> batches;
    for (std::int64_t batch = 1; batch <= points; ++batch) {
      batches.emplace_back(batch);
    }
    std::vector<experiment::GivenValues> given{{"model_name", {"tiny"}},
                                               {"model_max_length", {32}},
                                               {"trainer", {"simulated"}},
                                               {"batch_size", std::move(batches)}};
    given.insert(given.end(), more.begin(), more.end());
    Diagnostics problems;
    const campaign::Plan plan =
        campaign::make_plan({.experiment = experiment::find_experiment("finetune_full_benchmark"),
                             .given = std::move(given),
                             .repeats = 1},
                            {.trainer = trainer.name(),
                             .trainer_version = simulation.text,
                             .hardware_class = "simulated",
                             .environment = Json::object()},
                            problems);
    if (!problems.empty()) {
      throw Error(ErrorCode::Internal, problems.front().line());
    }
    const std::unique_ptr<store::Store> store =
        store::open_store((folder_.path() / "store.db").string(), store::OpenMode::Create);
    return campaign::run_campaign(plan,
                                  {.store = *store,
                                   .trainer = trainer,
                                   .clock = clock,
                                   .stop = stop_,
                                   .log_folder = folder_.path() / "logs",
                                   .command = "overhead_bench"},
                                  stopwatch);
  }
  Stopwatch stopwatch;

 private:
  TemporaryFolder folder_;
  measure::StopFlag stop_;
};

Json per_point(std::int64_t points) {
  const trainer::Simulation simulation =
      trainer::parse_simulation(R"({"time_scale":0,"step":{"base_s":0.1}})", "bench");
  const std::unique_ptr<trainer::Trainer> trainer = trainer::make_simulated_trainer(simulation);
  Bench bench;
  bench.run(simulation, *trainer, system_clock(), points, {{"max_steps", {25}}});
  const std::vector<double>& all = bench.stopwatch.seconds;
  std::printf("%lld points whose training takes no time: %.1f ms each (median), %.1f ms at most\n",
              static_cast<long long>(points), 1e3 * stats::median(all),
              1e3 * *std::ranges::max_element(all));
  return Json::object({{"points", points},
                       {"overhead_ms_median", 1e3 * stats::median(all)},
                       {"overhead_ms_max", 1e3 * *std::ranges::max_element(all)}});
}

double controller_share(std::int64_t seconds, double step_s) {
  const trainer::Simulation simulation =
      trainer::parse_simulation(fmt::format(R"({{"step":{{"base_s":{}}}}})", step_s), "bench");
  const std::unique_ptr<trainer::Trainer> trainer = trainer::make_simulated_trainer(simulation);
  Bench bench;
  const double before = processor_s();
  bench.run(simulation, *trainer, system_clock(), 1, {{"stop_after_seconds", {Json(seconds)}}});
  const double share = (processor_s() - before) / bench.stopwatch.seconds.front();
  std::printf("controller during %lld s of steps of %g s: %.2f %% of one core\n",
              static_cast<long long>(seconds), step_s, 100 * share);
  return 100 * share;
}

double reuse_seconds(std::int64_t points) {
  const trainer::Simulation simulation =
      trainer::parse_simulation(R"({"step":{"base_s":0.1}})", "bench");
  test_support::FakeClock clock;
  const std::unique_ptr<trainer::Trainer> trainer =
      trainer::make_simulated_trainer(simulation, clock);
  Bench bench;
  const auto begin_first = steady_clock::now();
  bench.run(simulation, *trainer, clock, points, {{"max_steps", {25}}});
  const double first_s = seconds_since(begin_first);
  const auto begin = steady_clock::now();
  const campaign::Result again =
      bench.run(simulation, *trainer, clock, points, {{"max_steps", {25}}});
  const double seconds = seconds_since(begin);
  if (again.reused != points || again.measured != 0) {
    throw Error(ErrorCode::Internal, "not every point was reused");
  }
  std::printf("%lld points in process: %.2f s; the same plan again, all reused: %.2f s\n",
              static_cast<long long>(points), first_s, seconds);
  return seconds;
}

double program_seconds(const std::filesystem::path& program, const std::filesystem::path& folder,
                       std::int64_t points) {
  const auto begin = steady_clock::now();
  Child child = Child::start(
      {.argv = {program.string(), "run", "-m", "tiny", "-l", "32", "-b",
                fmt::format("1..{}", points), "--repeats", "1", "--max-steps", "25", "--trainer",
                "simulated", "--simulation", (folder / "model.json").string(), "--quiet", "--store",
                (folder / "store.db").string()},
       .log_file = folder / "said"});
  const std::optional<ExitStatus> exit = child.wait_for(std::chrono::hours(1));
  if (!exit || !exit->ok()) {
    throw Error(ErrorCode::Internal, "the program failed: " + read_file(folder / "said"));
  }
  return seconds_since(begin);
}

/// The whole program: points whose training takes no time, and the same plan once more.
Json whole_program(const std::filesystem::path& program, std::int64_t points) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "model.json", R"({"time_scale":0,"step":{"base_s":0.1}})");
  const double first_s = program_seconds(program, folder.path(), points);
  const double again_s = program_seconds(program, folder.path(), points);
  std::printf("%lld points through tunebench run: %.2f s, %.1f ms each; all reused: %.2f s\n",
              static_cast<long long>(points), first_s, 1e3 * first_s / static_cast<double>(points),
              again_s);
  return Json::object({{"points", points},
                       {"ms_per_point", 1e3 * first_s / static_cast<double>(points)},
                       {"reuse_s", again_s}});
}

int run(std::int64_t points, std::int64_t seconds, std::int64_t reused,
        const std::filesystem::path& program) {
  Json result = per_point(points);
  result.set("controller_percent", controller_share(seconds, 0.1))
      .set("controller_percent_fast_steps", controller_share(seconds, 0.01))
      .set("reused_points", reused)
      .set("reuse_s", reuse_seconds(reused))
      .set("bench", "overhead");
  if (std::filesystem::exists(program)) {
    result.set("program", whole_program(program, reused));
  }
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  // The simulated trainer's process is this program again.
  if (argc == 4 && std::string_view(argv[1]) == "simulate") {
    return tunebench::trainer::run_simulated_worker(argv[2], argv[3]);
  }
  CLI::App app{"what measuring costs beside training"};
  std::int64_t points = 20;
  std::int64_t seconds = 10;
  std::int64_t reused = 1000;
  app.add_option("--points", points, "points of the first part")->check(CLI::Range(1, 4096));
  app.add_option("--seconds", seconds, "length of each run of the second part")
      ->check(CLI::Range(1, 3600));
  app.add_option("--reused", reused, "points of the third part")->check(CLI::Range(1, 4096));
  std::string program =
      (tunebench::own_executable().parent_path().parent_path() / "tunebench").string();
  app.add_option("--program", program, "the program of the last part; left out when it is missing");
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure(
      "overhead_bench", [&] { return tunebench::bench::run(points, seconds, reused, program); });
}
