#include "tunebench/space/space.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::space {
namespace {

using experiment::find_experiment;
using experiment::GivenValues;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Json> numbers(int from, int to) {
  std::vector<Json> values;
  for (int i = from; i <= to; ++i) {
    values.emplace_back(i);
  }
  return values;
}

std::vector<std::string> lines(const Diagnostics& problems) {
  std::vector<std::string> result;
  for (const Diagnostic& problem : problems) {
    result.push_back(problem.line());
  }
  return result;
}

/// Model tiny, lengths and batches; further inputs after those.
SpaceRequest request(std::vector<Json> lengths, std::vector<Json> batches,
                     std::vector<std::string> rules = {}, std::vector<GivenValues> more = {}) {
  SpaceRequest made{.given = {{"model_name", {"tiny"}},
                              {"model_max_length", std::move(lengths)},
                              {"batch_size", std::move(batches)}},
                    .experiments = {{find_experiment("finetune_full_benchmark"), {}}}};
  made.given.insert(made.given.end(), more.begin(), more.end());
  for (std::string& rule : rules) {
    made.rules.push_back({std::move(rule), "--where"});
  }
  return made;
}

Space good(const SpaceRequest& request) {
  Diagnostics problems;
  std::optional<Space> space = make_space(request, problems);
  EXPECT_THAT(lines(problems), IsEmpty());
  return std::move(space.value());
}

std::vector<std::string> kept(const Space& space) {
  std::vector<std::string> texts;
  for (Walk walk(space); walk.next();) {
    const experiment::Point point = space.point(walk.digits());
    texts.push_back(point.input("model_max_length").dump() + "," +
                    point.input("batch_size").dump());
  }
  return texts;
}

TEST(Space, LastDimensionVariesFastest) {
  const Space space = good(request({512, 1024}, {4, 8, 12}));
  EXPECT_EQ(space.size(), 6U);
  EXPECT_THAT(kept(space), ElementsAre("512,4", "512,8", "512,12", "1024,4", "1024,8", "1024,12"));
  EXPECT_EQ(space.point(4).input("batch_size"), Json(8));
  EXPECT_EQ(space.point(4).input("torch_dtype"), Json("bfloat16")) << "defaults are filled in";
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(space.index_of(space.digits_of(i)), i);
  }
}

TEST(Space, RulesExcludePointsBeforeTheyAreMade) {
  const Space space = good(request(
      {512, 1024}, numbers(1, 8), {"batch_size % 3 == 0", "model_max_length * batch_size < 4000"}));
  EXPECT_THAT(kept(space), ElementsAre("512,3", "512,6", "1024,3"));
  const RuleCount count = count_kept(space);
  EXPECT_TRUE(count.exact);
  EXPECT_EQ(count.kept_exactly, 3U);
  EXPECT_THAT(count.excluded, ElementsAre(12, 6)) << "what two rules exclude counts for both";
  EXPECT_EQ(space.excluded_by(space.digits_of(0)), 0U);
}

TEST(Space, RulesReadDefaultsAndTheExperiment) {
  EXPECT_THAT(kept(good(request({32}, {1, 2, 3},
                                {"batch_size * gradient_accumulation_steps <= 8",
                                 "experiment like 'finetune_full%'"}))),
              ElementsAre("32,1", "32,2"));
  EXPECT_THAT(kept(good(request({32}, {1, 2}, {"number_gpus > 0"}))), IsEmpty());
  EXPECT_EQ(count_kept(good(request({32}, {1, 2}, {"number_gpus > 0"}))).kept_exactly, 0U);
  EXPECT_THAT(kept(good(request({32}, {1, 2}, {"gpu_model == null"}))).size(), 2U);
}

TEST(Space, CountsExactlyByGroupsOfConnectedDimensions) {
  // 1000 x 1000 x 1000 points: the rule connects two of three dimensions.
  const Space space = good(request(numbers(1, 1000), numbers(1, 1000), {"batch_size % seed == 0"},
                                   {{"seed", numbers(1, 1000)}}));
  EXPECT_EQ(space.size(), 1'000'000'000U);
  const auto begin = std::chrono::steady_clock::now();
  const RuleCount count = count_kept(space);
  EXPECT_TRUE(count.exact);
  // Sum of divisor counts below 1001: 7069 pairs.
  EXPECT_EQ(count.kept_exactly, 7'069'000U);
  EXPECT_EQ(count.excluded[0], 1e9 - 7'069'000.0);
  Walk walk(space);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(walk.next());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Space, EstimatesWhatIsTooLargeToCount) {
  const Space space =
      good(request(numbers(1, 1000), numbers(1, 1000),
                   {"batch_size + seed + model_max_length <= 1500"}, {{"seed", numbers(1, 1000)}}));
  const RuleCount count = count_kept(space);
  EXPECT_FALSE(count.exact);
  EXPECT_EQ(count.kept_exactly, std::nullopt);
  EXPECT_NEAR(count.kept, 5e8, 2e7) << "half of the cube";
  EXPECT_EQ(count_kept(space).kept, count.kept) << "the sample is seeded";
  EXPECT_EQ(count_text(count.kept, false), "about 5e+08");
}

TEST(Space, AWalkLeavesOutWholeParts) {
  // Only the last million of 10^9 points are kept.
  const Space space = good(request(numbers(1, 1000), numbers(1, 1000), {"model_max_length == 1000"},
                                   {{"seed", numbers(1, 1000)}}));
  Walk walk(space);
  walk.set_most_looks(2000);
  ASSERT_TRUE(walk.next());
  EXPECT_EQ(space.index_of(walk.digits()), 999'000'000U);
  Walk short_walk(space);
  short_walk.set_most_looks(10);
  EXPECT_FALSE(short_walk.next());
  EXPECT_TRUE(short_walk.gave_up());
}

TEST(Space, SizeIsCheckedForOverflow) {
  std::vector<GivenValues> more;
  for (const char* name : {"seed", "max_steps", "stop_after_seconds", "num_train_epochs"}) {
    more.push_back({name, numbers(1, 1000)});
  }
  EXPECT_EQ(good(request(numbers(1, 1000), numbers(1, 1000), {}, more)).size(),
            1'000'000'000'000'000'000U);
  more.push_back({"learning_rate", numbers(1, 1000)});
  const Space space = good(request(numbers(1, 1000), numbers(1, 1000), {"seed == 7"}, more));
  EXPECT_EQ(space.size(), std::nullopt);
  EXPECT_EQ(space.approximate_size(), 1e21);
  const RuleCount count = count_kept(space);
  EXPECT_TRUE(count.exact);
  EXPECT_EQ(count.kept, 1e18);
  EXPECT_EQ(count_text(1e21, true), "1e+21");
}

TEST(Space, SeveralExperimentsFollowEachOtherAtEachPoint) {
  SpaceRequest two = request({32}, {1, 2});
  two.experiments = {{find_experiment("finetune_full_benchmark"), {{"max_steps", {20}}}},
                     {find_experiment("finetune_full_benchmark"),
                      {{"max_steps", {20}}, {"optim", {"adamw_torch_fused"}}}},
                     {find_experiment("finetune_full_benchmark"),
                      {{"optim", {"adamw_torch"}}, {"max_steps", {20}}}}};
  const Space space = good(two);
  EXPECT_EQ(space.variants().size(), 2U) << "the third is the first: optim has its default";
  EXPECT_EQ(space.size(), 4U);
  std::vector<std::string> texts;
  for (Walk walk(space); walk.next();) {
    const experiment::Point point = space.point(walk.digits());
    texts.push_back(point.input("batch_size").dump() + point.text("optim"));
  }
  EXPECT_THAT(texts, ElementsAre("1adamw_torch", "1adamw_torch_fused", "2adamw_torch",
                                 "2adamw_torch_fused"));
  EXPECT_THAT(space.variants()[0].own, ElementsAre("optim"));
}

TEST(Space, AVariantConnectsRules) {
  SpaceRequest two = request({32}, {1, 2, 3});
  two.experiments = {{find_experiment("finetune_full_benchmark"), {{"max_steps", {1}}}},
                     {find_experiment("finetune_full_benchmark"), {{"max_steps", {2}}}}};
  two.rules.push_back({"batch_size <= max_steps", "--where"});
  const Space space = good(two);
  EXPECT_EQ(count_kept(space).kept_exactly, 3U);
  EXPECT_THAT(kept(space), ElementsAre("32,1", "32,1", "32,2"));
}

TEST(MakeSpace, RefusesAFloodOfInputsOfExperiments) {
  SpaceRequest many = request({32}, {1});
  many.experiments = {
      {find_experiment("finetune_full_benchmark"),
       {{"seed", numbers(1, 200), "p.yaml:2:1"}, {"max_steps", numbers(1, 200), "p.yaml:3:1"}}}};
  Diagnostics problems;
  EXPECT_EQ(make_space(many, problems), std::nullopt);
  EXPECT_THAT(lines(problems),
              ElementsAre("p.yaml:3:1: finetune_full_benchmark-v1.0.0 has more than 10000 "
                          "combinations of inputs of its own - give them as inputs of the space"));
}

TEST(MakeSpace, TellsEveryMistakeOnce) {
  SpaceRequest wrong = request({32}, {1}, {"bacth_size > 2 and legnth < 3", "1 +"});
  wrong.given.push_back({"bacth_size", {1}, "p.yaml:3:1"});
  wrong.experiments.push_back(
      {find_experiment("finetune_full_benchmark"), {{"batch_size", {2}, "p.yaml:9:5"}}});
  Diagnostics problems;
  EXPECT_EQ(make_space(wrong, problems), std::nullopt);
  const std::vector<std::string> told = lines(problems);
  ASSERT_EQ(told.size(), 5U) << testing::PrintToString(told);
  EXPECT_EQ(told[0], "p.yaml:3:1: unknown input 'bacth_size' - did you mean 'batch_size'?");
  EXPECT_EQ(told[1],
            "p.yaml:9:5: batch_size is an input of the space and of "
            "finetune_full_benchmark-v1.0.0 - give it in one place");
  EXPECT_EQ(told[2], "--where: unknown name 'bacth_size' at column 1 - did you mean 'batch_size'?");
  EXPECT_THAT(told[3], HasSubstr("unknown name 'legnth' at column 20"));
  EXPECT_THAT(told[4], HasSubstr("--where: "));
}

TEST(Space, ARuleThatIsATextIsAnErrorWithItsPlace) {
  const Space space = good(request({32}, {1, 2}, {"model_name"}));
  try {
    static_cast<void>(count_kept(space));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("--where: "));
  }
}

}  // namespace
}  // namespace tunebench::space
