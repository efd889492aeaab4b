#include "tunebench/campaign/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::campaign {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Machine preview_machine(std::int64_t memory_bytes = 0) {
  return {.trainer = "native",
          .trainer_version = "1",
          .hardware_class = "cpu:test:2c",
          .memory_bytes = memory_bytes,
          .cores = 2,
          .environment = Json::object()};
}

Request preview_request(std::vector<Json> lengths, std::vector<Json> batches,
                        std::vector<std::string> rules = {}) {
  Request request{.experiment = experiment::find_experiment("finetune_full_benchmark"),
                  .given = {{"model_name", {"tiny"}},
                            {"model_max_length", std::move(lengths)},
                            {"batch_size", std::move(batches)}}};
  for (std::string& rule : rules) {
    request.rules.push_back({std::move(rule), "--where"});
  }
  return request;
}

std::vector<std::string> told(const Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

Preview good(const Request& request, const Machine& machine = preview_machine(),
             const store::Store* store = nullptr, const PreviewOptions& options = {}) {
  Diagnostics problems;
  Preview preview = make_preview(request, machine, store, options, problems);
  EXPECT_THAT(told(problems), IsEmpty());
  return preview;
}

/// A valid measurement of that plan's point, or an invalid one.
record::Record record_of(const PlannedPoint& point, const std::string& run, record::Outcome status,
                         int number) {
  record::Record record{.id = run + std::to_string(number),
                        .run = run,
                        .key = point.key,
                        .experiment = point.point.experiment,
                        .inputs = point.point.inputs,
                        .trainer = "native",
                        .trainer_version = "1",
                        .status = status};
  record.environment = Json::object();
  if (status == record::Outcome::Ok) {
    record.set("gflops", 10.0);
    record.set("setup_s", 1.5);
    record.set("wall_s", 8.0);
  }
  return record;
}

TEST(MakePreview, TellsExcludedAndNewPointsInOrder) {
  const Preview preview = good(preview_request({32, 64}, {1, 2}, {"batch_size == 1 or 1 > 2"}));
  std::vector<std::string> rows;
  for (const PreviewPoint& point : preview.points) {
    rows.push_back(point.title + (point.excluded_by ? " excluded" : " new"));
  }
  EXPECT_THAT(rows, ElementsAre("length=32 batch=1 new", "length=32 batch=2 excluded",
                                "length=64 batch=1 new", "length=64 batch=2 excluded"));
  EXPECT_EQ(preview.size, 4);
  EXPECT_EQ(preview.kept, 2);
  EXPECT_TRUE(preview.exact);
  EXPECT_TRUE(preview.all);
  EXPECT_EQ(preview.rules[0].excluded, 2);
  EXPECT_EQ(preview.repeats.count, 3);
  EXPECT_EQ(preview.points[0].wanted, 3);
}

TEST(MakePreview, CountsWhatIsKnownAndLearnsTimeFromIt) {
  const TemporaryFolder folder;
  const std::unique_ptr<store::Store> store =
      store::open_store((folder.path() / "store.db").string(), store::OpenMode::Create);
  const Request request = preview_request({32}, {1, 2});
  Diagnostics problems;
  const Plan plan = make_plan(request, preview_machine(), problems);
  const store::Run run = store->begin_run({.command = "run", .planned = 2});
  store->append(record_of(plan.points[0], run.name, record::Outcome::Ok, 1));
  store->append(record_of(plan.points[0], run.name, record::Outcome::Ok, 2));
  store->append(record_of(plan.points[1], run.name, record::Outcome::Crashed, 3));
  const Preview preview = good(request, preview_machine(), store.get(), {.price = 3.6});
  EXPECT_EQ(preview.points[0].reused, 2);
  EXPECT_EQ(preview.points[0].to_measure(), 1);
  EXPECT_EQ(preview.points[1].reused, 0) << "a crash is tried again";
  EXPECT_EQ(preview.time_source, "from 2 measurements of tiny");
  // setup_s, and a window of 6 s: steps of tiny are much shorter.
  EXPECT_NEAR(*preview.points[0].seconds, 7.5, 0.01);
  EXPECT_NEAR(*preview.points[1].seconds, 22.5, 0.03);
  EXPECT_NEAR(*preview.points[0].cost, 0.0075, 1e-5);
  Request fresh = request;
  fresh.fresh = true;
  EXPECT_EQ(good(fresh, preview_machine(), store.get()).points[0].reused, 0);
}

TEST(MakePreview, GuessesTimeWithoutMeasurements) {
  const Preview preview = good(preview_request({32}, {1}));
  EXPECT_THAT(preview.time_source, HasSubstr("a guess from the arithmetic"));
  EXPECT_GT(*preview.points[0].seconds, 0);
}

TEST(MakePreview, PredictsWhatDoesNotFit) {
  Request request = preview_request({32, 512}, {1, 512});
  request.given.push_back({"memory_limit_gib", {0.01}});
  const Preview preview = good(request);
  EXPECT_TRUE(preview.points[0].fits());
  ASSERT_FALSE(preview.points[3].fits()) << "512 x 512 tokens in 10 MiB";
  EXPECT_GT(*preview.points[3].needed_bytes, preview.points[3].may_use_bytes);
  EXPECT_EQ(preview.points[3].may_use_bytes, memory_bound(0, 0.01));
}

TEST(MakePreview, LooksAtTheFirstPointsOfALargeSpaceOnly) {
  std::vector<Json> many;
  for (int i = 1; i <= 500; ++i) {
    many.emplace_back(i + 1);
  }
  Request request = preview_request(many, many, {"batch_size % 2 == 0"});
  request.given.push_back({"seed", many});
  const Preview few = good(request);
  EXPECT_EQ(few.points.size(), 20U);
  EXPECT_FALSE(few.all);
  EXPECT_EQ(few.size, 125e6);
  EXPECT_EQ(few.kept, 62.5e6);
  EXPECT_EQ(good(request, preview_machine(), nullptr, {.limit = 3}).points.size(), 3U);
  request.stop.points = 2;
  const Preview stopped = good(request);
  EXPECT_EQ(stopped.points.size(), 2U);
  EXPECT_TRUE(stopped.all);
  Diagnostics problems;
  EXPECT_EQ(make_plan(request, preview_machine(), problems).points.size(), 2U);
  EXPECT_THAT(told(problems), IsEmpty()) << "run takes the first two of them as well";
}

TEST(MakePreview, InvalidPointsAreListedOrRefused) {
  Request request = preview_request({32}, {1, 2, 3, 4});
  request.given.push_back({"number_gpus", {2}});
  request.given.push_back({"trainer", {"simulated"}});
  Machine machine = preview_machine();
  machine.trainer = "simulated";
  Diagnostics problems;
  make_preview(request, machine, nullptr, {}, problems);
  EXPECT_THAT(told(problems), ElementsAre("batch_size is 1 but number_gpus is 2; nearest: 2",
                                          "batch_size is 3 but number_gpus is 2; nearest: 2, 4"));
  request.keep_invalid = true;
  const Preview preview = good(request, machine);
  ASSERT_EQ(preview.points.size(), 4U);
  EXPECT_EQ(preview.points[0].invalid, "batch_size is 1 but number_gpus is 2; nearest: 2");
  EXPECT_EQ(preview.points[1].invalid, "");
  EXPECT_THAT(preview.time_source, HasSubstr("nothing is known of a simulated trainer"));
}

TEST(CheckGates, NeedARunToCompareWith) {
  Request request = preview_request({32}, {1});
  request.fail_if.push_back({"tokens_per_s < -3%", "p.yaml:7:1"});
  Diagnostics problems;
  make_plan(request, preview_machine(), problems);
  EXPECT_THAT(
      told(problems),
      ElementsAre("p.yaml:7:1: fail_if has nothing to compare with - compare: the name of a "
                  "run or of a baseline"));
  request.compare = CompareRequest{.baseline = "main"};
  problems.clear();
  make_plan(request, preview_machine(), problems);
  EXPECT_THAT(told(problems), IsEmpty());
}

TEST(MakePlan, RulesThatExcludeEverythingAreAMistake) {
  Diagnostics problems;
  make_plan(preview_request({32}, {1}, {"batch_size > 9"}), preview_machine(), problems);
  EXPECT_THAT(told(problems),
              ElementsAre("the rules exclude every point - tunebench plan tells which"));
}

TEST(MakePlan, BenchmarksAndStabilityDoNotMix) {
  Request request = preview_request({32}, {1});
  request.experiments = {{experiment::find_experiment("finetune_full_benchmark"), {}},
                         {experiment::find_experiment("finetune_full_stability"), {}}};
  Diagnostics problems;
  make_plan(request, preview_machine(), problems);
  EXPECT_THAT(told(problems), testing::Contains(HasSubstr("do not go into one run")));
}

}  // namespace
}  // namespace tunebench::campaign
