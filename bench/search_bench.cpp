// How many measurements each method of searching makes until one is within 1 % of the best of a
// recorded table, as a ratio to random order, and how long a choice takes. With two objectives:
// until the hypervolume is within 1 % of the whole table's. The last line of stdout is a JSON
// object.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/one_line.h"
#include "tests/support/recorded_table.h"
#include "tunebench/base/random.h"
#include "tunebench/search/hypervolume.h"
#include "tunebench/search/searcher.h"
#include "tunebench/stats/compare.h"
#include "tunebench/stats/summary.h"

namespace tunebench::bench {
namespace {

using search::Method;
using test_support::RecordedTable;

constexpr Method kMethods[] = {Method::Random, Method::LatinHypercube, Method::Sobol, Method::Tpe,
                               Method::GaussianProcess};
constexpr const char* kTables[] = {"fms_liger",     "llm_foundry",      "fms_a100",
                                   "fms_moe",       "fms_padding_free", "fsdp_qlora",
                                   "fms_multipack", "fms_granite"};

struct Options {
  std::string folder = TB_GOLDEN_FOLDER "/search";
  int seeds = 200;
  int threads = 2;
  int choices = 20;
};

/// Median over the seeds of `count(seed)`.
template <typename Count>
double median_count(const Options& options, Count count) {
  std::vector<double> counts(static_cast<std::size_t>(options.seeds));
  std::vector<std::future<void>> parts;
  for (int part = 0; part < options.threads; ++part) {
    parts.push_back(std::async(std::launch::async, [&, part] {
      for (int seed = part; seed < options.seeds; seed += options.threads) {
        counts[static_cast<std::size_t>(seed)] = count(static_cast<std::uint64_t>(seed));
      }
    }));
  }
  for (std::future<void>& part : parts) {
    part.get();
  }
  return stats::median(counts);
}

/// One line of medians; the first is random's.
void print_line(const std::string& name, std::size_t points, const std::vector<double>& medians) {
  std::string line = fmt::format("{:<36} {:>6} {:>7.1f}", name, points, medians[0]);
  for (std::size_t i = 1; i < medians.size(); ++i) {
    line += fmt::format(" {:>6.1f} ({:.2f})", medians[i], medians[i] / medians[0]);
  }
  fmt::print("{}\n", line);
}

/// Speeds up, memory down: measurements until 99 % of the volume of the whole table.
double points_until_front(const RecordedTable& table, Method method, std::uint64_t seed) {
  const std::vector<RecordedTable::Metric> metrics = {RecordedTable::TokensPerS,
                                                      RecordedTable::PeakMemory};
  search::SearchConfig config;
  config.method = method;
  config.directions = {search::Direction::Maximize, search::Direction::Minimize};
  const std::vector<double> reference = {0.0, table.largest(RecordedTable::PeakMemory)};
  config.reference = reference;
  search::LossRows all;
  for (const auto& [point, values] : table.rows()) {
    if (const search::Observation row = table.measure(point, metrics); row.valid) {
      all.push_back({-row.objectives[0], row.objectives[1]});
    }
  }
  const double target = 0.99 * search::hypervolume(all, reference);
  const auto searcher = search::make_searcher(config, table.space(), seed);
  std::vector<search::Observation> history;
  search::LossRows seen;
  while (search::hypervolume(seen, reference) < target) {
    history.push_back(table.measure(searcher->next(history).value().point, metrics));
    if (history.back().valid) {
      seen.push_back({-history.back().objectives[0], history.back().objectives[1]});
    }
  }
  return static_cast<double>(history.size());
}

/// Median of some choices among 1,000 points after 100 observations, in milliseconds.
double choice_ms(const Options& options, Method method) {
  const std::vector<Json> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<Json> names = {"a", "b", "c", "d", "e"};
  const search::FiniteSpace space(
      {{"x", ten}, {"y", ten}, {"n", names}, {"f", {Json(false), Json(true)}}});
  search::SearchConfig config;
  config.method = method;
  std::vector<search::Observation> history;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const search::Point point = i * 9;
    const double x = static_cast<double>(point % 97);
    history.push_back({.point = point, .objectives = {1000 + x * x + normal(1, 1, i)}});
  }
  std::vector<double> times;
  for (int i = 0; i < options.choices; ++i) {
    const auto searcher = search::make_searcher(config, space, static_cast<std::uint64_t>(i));
    const auto start = std::chrono::steady_clock::now();
    if (!searcher->next(history)) {
      throw std::runtime_error("no choice");
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  return stats::median(times);
}

int run(const Options& options) {
  fmt::print("measurements until within 1 % of the best, median over {} seeds (ratio to random)\n",
             options.seeds);
  fmt::print("{:<36} {:>6} {:>7} {:>13} {:>13} {:>13} {:>13}\n", "table, objective", "points",
             "random", "lhs", "sobol", "tpe", "gp");
  std::vector<std::vector<double>> ratios(std::size(kMethods));
  std::vector<double> sums(std::size(kMethods), 0.0);
  for (const char* name : kTables) {
    const RecordedTable table(options.folder + "/" + name + ".csv");
    for (const RecordedTable::Metric metric :
         {RecordedTable::TokensPerS, RecordedTable::TokensPerSPerGpu}) {
      std::vector<double> medians;
      for (std::size_t i = 0; i < std::size(kMethods); ++i) {
        medians.push_back(median_count(options, [&](std::uint64_t seed) {
          return table.points_until_best(kMethods[i], metric, seed);
        }));
        ratios[i].push_back(medians[i] / medians[0]);
        sums[i] += medians[i];
      }
      print_line(fmt::format("{}, tokens/s{}", name,
                             metric == RecordedTable::TokensPerS ? "" : " per GPU"),
                 table.rows().size(), medians);
    }
  }
  nlohmann::json result;
  for (std::size_t i = 1; i < std::size(kMethods); ++i) {
    const std::string method(search::method_name(kMethods[i]));
    result["mean_ratio"][method] = stats::geometric_mean(ratios[i]);
    result["ratio_of_sums"][method] = sums[i] / sums[0];
    fmt::print("{:<20} geometric mean of the ratios {:.2f}, ratio of the sums {:.2f}\n", method,
               stats::geometric_mean(ratios[i]), sums[i] / sums[0]);
  }
  fmt::print("measurements until 99 % of the hypervolume of tokens/s and memory\n");
  for (const char* name : {"fms_liger", "fms_a100"}) {
    const RecordedTable table(options.folder + "/" + name + ".csv");
    std::vector<double> medians;
    for (const Method method : kMethods) {
      medians.push_back(median_count(
          options, [&](std::uint64_t seed) { return points_until_front(table, method, seed); }));
    }
    print_line(name, table.rows().size(), medians);
  }
  for (const Method method : kMethods) {
    const double took = choice_ms(options, method);
    result["choice_ms"][std::string(search::method_name(method))] = took;
    fmt::print("{:<20} a choice among 1,000 points after 100: {:.2f} ms\n",
               search::method_name(method), took);
  }
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  tunebench::bench::Options options;
  CLI::App app("compares the methods of searching on recorded tables of real measurements");
  app.add_option("--tables", options.folder, "folder of the tables");
  app.add_option("--seeds", options.seeds, "searches for each number")
      ->check(CLI::Range(1, 100000));
  app.add_option("--threads", options.threads, "searches at a time")->check(CLI::Range(1, 256));
  app.add_option("--choices", options.choices, "choices that are timed")
      ->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure(
      "search_bench", [&options] { return tunebench::bench::run(options); });
}
