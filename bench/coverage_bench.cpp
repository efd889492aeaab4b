// How often the 95 % interval over n repeats holds the true rate, by playing models of which it is
// known through the whole protocol. Last line: a JSON object.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "bench/one_line.h"
#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/experiment/property.h"
#include "tunebench/measure/measure.h"
#include "tunebench/stats/summary.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::bench {
namespace {

/// All have 1 % of noise in each step and 2 % in each run; the undisturbed rate is the truth.
struct Case {
  const char* name;
  const char* more;  ///< members of step
};
constexpr Case kCases[] = {
    {"noise only", R"("drift_per_run":0)"},
    {"drift of +0.5 % of the step time per round", R"("drift_per_run":0.005)"},
    {"drift of +2 % of the step time per round", R"("drift_per_run":0.02)"},
    {"1 % of the steps take 3 times as long", R"("outliers":{"steps":0.01,"factor":3})"},
    {"5 % of the runs take 1.2 times as long", R"("outliers":{"runs":0.05,"factor":1.2})"},
};

class Measured {
 public:
  explicit Measured(const Case& one)
      : trainer_(trainer::make_simulated_trainer(
            trainer::parse_simulation(fmt::format(R"({{"step":{{"base_s":1,"noise":{{"sd":0.01}},)"
                                                  R"("run_noise":{{"sd":0.02}},{}}}}})",
                                                  one.more),
                                      one.name),
            clock_)) {
    for (const experiment::Property& property : experiment::properties()) {
      request_.point.inputs[property.name] = property.default_value;
    }
    request_.point.inputs["batch_size"] = 1;
    request_.point.inputs["gradient_accumulation_steps"] = 1;
    request_.point.inputs["model_max_length"] = 100;
    request_.log_file = folder_.path() / "log";
    request_.protocol.timeout_s = 1e6;
  }

  /// Another draw is another seed: the noise of a run depends on all inputs.
  double rate(int draw, int repeat) {
    request_.point.inputs["seed"] = draw;
    request_.repeat = repeat;
    return measure::measure_point(request_, *trainer_, clock_, stop_, {})
        .number("tokens_per_s")
        .value();
  }

 private:
  test_support::FakeClock clock_;
  TemporaryFolder folder_;
  measure::StopFlag stop_;
  measure::Request request_;
  std::unique_ptr<trainer::Trainer> trainer_;
};

double covered(const Case& one, int repeats, int draws) {
  const double truth = 100.0 * std::exp(0.02 * 0.02 / 2);
  Measured measured(one);
  int held = 0;
  for (int draw = 1; draw <= draws; ++draw) {
    std::vector<double> rates;
    for (int repeat = 1; repeat <= repeats; ++repeat) {
      rates.push_back(measured.rate(draw, repeat));
    }
    const stats::Interval interval = stats::mean_interval(rates).value();
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / draws;
}

int run(int draws) {
  Json rows = Json::array();
  std::printf("share of 95 %% intervals that hold the undisturbed rate, %d draws each\n", draws);
  for (const Case& one : kCases) {
    std::printf("%-44s", one.name);
    for (const int repeats : {3, 5, 10}) {
      const double share = covered(one, repeats, draws);
      std::printf("  n=%d %.3f", repeats, share);
      rows.push_back(Json::object({{"case", one.name}, {"n", repeats}, {"coverage", share}}));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%s\n",
              Json::object({{"bench", "coverage"}, {"draws", draws}, {"rows", std::move(rows)}})
                  .dump()
                  .c_str());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  CLI::App app{"coverage of the 95 % interval over simulated repeats"};
  int draws = 1000;
  app.add_option("--draws", draws, "intervals per case and number of repeats")
      ->check(CLI::Range(1, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure("coverage_bench",
                                                  [&] { return tunebench::bench::run(draws); });
}
