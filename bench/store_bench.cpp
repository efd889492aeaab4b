// What a large store costs: look-up by key, the list of runs, a filtered aggregate, memory; and
// what a claim adds to a record.
#include "tunebench/store/store.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/one_line.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/random.h"

namespace tunebench::bench {
namespace {

using std::chrono::steady_clock;

double seconds_of(const std::function<void()>& body) {
  const auto begin = steady_clock::now();
  body();
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

/// Peak resident memory of this process in MB.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1e3;
    }
  }
  return 0;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// A record as a measurement makes it: all inputs, all fields a GPU run has, an environment.
record::Record measured(std::int64_t number) {
  record::Record record;
  record.id = record::new_record_id();
  record.key = fmt::format("{:064x}", number);
  record.point_key = fmt::format("{:064x}", number / 2);
  record.experiment = "finetune_full_benchmark-v1.0.0";
  for (const experiment::Property& property : experiment::properties()) {
    record.inputs[property.name] = property.default_value;
  }
  record.inputs["model_name"] = number % 3 == 0 ? "llama-7b" : "granite-8b";
  record.inputs["batch_size"] = std::int64_t{1} << (number % 8);
  record.trainer = "native";
  record.trainer_version = "0.1.0";
  record.started_at = "2026-12-01T08:30:00Z";
  record.status = number % 10 == 0 ? record::Outcome::OomGpu : record::Outcome::Ok;
  for (const record::Field& field : record::fields()) {
    const double drawn = 1000 * uniform(1, 1, static_cast<std::uint64_t>(number));
    if (field.type == record::FieldType::Real) {
      record.set(field.name, drawn);
    } else if (field.type == record::FieldType::Integer) {
      record.set(field.name, static_cast<std::int64_t>(drawn));
    }
  }
  record.conditions = Json::object({{"driver", "550.54"}, {"hardware_class", "h200"}});
  record.environment = Json::object({{"cores", 8}, {"host", "bench"}});
  return record;
}

void fill(store::Store& store, std::int64_t records) {
  constexpr std::int64_t kOfARun = 5'000;
  for (std::int64_t first = 0; first < records; first += kOfARun) {
    const std::int64_t count = std::min(kOfARun, records - first);
    const std::string run =
        store.begin_run({.command = "bench", .planned = count, .plan = {}, .simulated = false})
            .name;
    std::vector<record::Record> made;
    for (std::int64_t i = 0; i < count; ++i) {
      made.push_back(measured(first + i));
      made.back().run = run;
    }
    store.append_all(made);
    store.end_run(run, "finished");
  }
}

/// So that the memory of making the records is not counted.
void fill_in_a_child(const std::string& location, std::int64_t records) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(one_line_for_a_failure("store_bench", [&] {
      fill(*store::open_store(location, store::OpenMode::Create), records);
      return 0;
    }));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    throw Error(ErrorCode::Internal, "the store was not filled");
  }
}

Json large_store(store::Store& store, std::int64_t records) {
  std::vector<double> look_ups;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto number = static_cast<std::int64_t>(uniform(2, 1, i) * static_cast<double>(records));
    look_ups.push_back(seconds_of([&] {
      if (store.reusable(fmt::format("{:064x}", number)).size() > 1) {
        throw Error(ErrorCode::Internal, "a key twice");
      }
    }));
  }
  std::size_t runs = 0;
  const double list_s = seconds_of([&] { runs = store.runs().size(); });
  Diagnostics problems;
  const auto condition =
      expression::Expression::compile("is_valid and batch_size >= 16 and model_name == 'llama-7b'",
                                      store::scan_columns(), "where", problems);
  double sum = 0;
  std::int64_t rows = 0;
  const double aggregate_s = seconds_of([&] {
    store.scan({.columns = {"tokens_per_s"}, .run = {}, .condition = &*condition},
               [&](std::span<const Json> row) {
                 sum += row[0].as_double();
                 ++rows;
               });
  });
  fmt::print("look-up by key: {:.3f} ms (median of {}), {:.3f} ms at most\n",
             1e3 * median(look_ups), look_ups.size(), 1e3 * *std::ranges::max_element(look_ups));
  fmt::print("list of {} runs: {:.1f} ms\n", runs, 1e3 * list_s);
  fmt::print("filtered aggregate over {} records: {:.2f} s, {} rows, mean {:.1f}\n", records,
             aggregate_s, rows, rows == 0 ? 0.0 : sum / static_cast<double>(rows));
  return Json::object({{"records", records},
                       {"look_up_ms_median", 1e3 * median(look_ups)},
                       {"look_up_ms_max", 1e3 * *std::ranges::max_element(look_ups)},
                       {"runs_ms", 1e3 * list_s},
                       {"aggregate_s", aggregate_s}});
}

/// Claim, release, append with and without a claim, each the median of `count`.
Json claims(store::Store& store, std::int64_t count) {
  const std::string run =
      store.begin_run({.command = "bench", .planned = count, .plan = {}, .simulated = false}).name;
  std::vector<double> claim_s;
  std::vector<double> release_s;
  std::vector<double> append_s;
  for (std::int64_t i = 0; i < count; ++i) {
    record::Record record = measured(i);
    record.run = run;
    record.key = fmt::format("claim {}", i);
    claim_s.push_back(seconds_of([&] { store.claim(run, record.key); }));
    release_s.push_back(seconds_of([&] { store.release(run, record.key); }));
    store.claim(run, record.key);
    append_s.push_back(seconds_of([&] { store.append(record); }));
  }
  fmt::print("claim {:.3f} ms, release {:.3f} ms, append with its sync {:.3f} ms (medians of {})\n",
             1e3 * median(claim_s), 1e3 * median(release_s), 1e3 * median(append_s), count);
  return Json::object({{"claim_ms", 1e3 * median(claim_s)},
                       {"release_ms", 1e3 * median(release_s)},
                       {"append_ms", 1e3 * median(append_s)}});
}

int run(int argc, char** argv) {
  CLI::App app("Measures a large store");
  std::int64_t records = 1'000'000;
  std::int64_t claimed = 200;
  std::string location;
  app.add_option("--records", records, "records in the store");
  app.add_option("--claims", claimed, "keys to claim, release and measure");
  app.add_option("--store", location, "an empty store; default: a file in a temporary folder");
  CLI11_PARSE(app, argc, argv);
  const TemporaryFolder folder;
  if (location.empty()) {
    location = (folder.path() / "store.db").string();
  }
  const double fill_s = seconds_of([&] { fill_in_a_child(location, records); });
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(location, failure);
  fmt::print("{} records made in {:.1f} s, {:.0f} MB\n", records, fill_s,
             failure ? 0.0 : static_cast<double>(bytes) / 1e6);
  const std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::Create);
  Json result = large_store(*store, records);
  result.set("claims", claims(*store, claimed)).set("peak_mb", peak_mb());
  fmt::print("memory at most {:.0f} MB\n{}\n", peak_mb(), result.dump());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  return tunebench::bench::one_line_for_a_failure(
      "store_bench", [&] { return tunebench::bench::run(argc, argv); });
}
