#include "tunebench/search/stopper.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"

namespace tunebench::search {
namespace {

using testing::ElementsAre;

const double kNaN = std::nan("");

FiniteSpace stop_space() {
  return FiniteSpace({{"batch", {1, 2, 4, 8}}, {"model", {"a", "b"}}, {"one", {1}}});
}

class Stopping : public testing::Test {
 protected:
  std::unique_ptr<Stopper> make(const std::string& name, const std::string& keywords,
                                Json::Array positional = {}) {
    Diagnostics problems;
    auto stopper = make_stopper({name, std::move(positional), Json::parse(keywords, "test")},
                                context_, problems);
    for (const Diagnostic& problem : problems) {
      ADD_FAILURE() << problem.line();
    }
    return stopper;
  }

  std::vector<std::string> faults(const std::string& name, const std::string& keywords,
                                  Json::Array positional = {}) {
    Diagnostics problems;
    EXPECT_EQ(make_stopper({name, std::move(positional), Json::parse(keywords, "test")}, context_,
                           problems),
              nullptr);
    std::vector<std::string> lines;
    for (const Diagnostic& problem : problems) {
      lines.push_back(problem.line());
    }
    return lines;
  }

  FiniteSpace space_ = stop_space();
  StopContext context_{&space_, {"tokens_per_s", "peak_mem"}, {Direction::Maximize}};
};

std::vector<Observation> trials(const std::vector<double>& values) {
  std::vector<Observation> history;
  for (const double value : values) {
    history.push_back({.point = history.size(), .objectives = {value, 0}});
    history.back().valid = !std::isnan(value);
  }
  return history;
}

/// The trial after which the stopper first says stop; 0: never.
std::size_t stops_at(const Stopper& stopper, const std::vector<Observation>& history) {
  for (std::size_t n = 0; n <= history.size(); ++n) {
    if (stopper.report(std::span(history).first(n)).stop) {
      // Later trials do not take it back.
      EXPECT_TRUE(stopper.report(history).stop);
      return n;
    }
  }
  return 0;
}

std::vector<double> and_then(std::vector<double> values, std::size_t count, double value) {
  values.insert(values.end(), count, value);
  return values;
}

// ado.md 9.5
TEST_F(Stopping, SimpleStopperVectors) {
  const auto low = make("SimpleStopper", R"({"mode":"min","metric":"tokens_per_s"})");
  const auto high = make("SimpleStopper", "{}", {"max", "tokens_per_s"});
  EXPECT_EQ(stops_at(*low, trials({10, 9, 8, 7, 6, 7, 7, 7, 7, 7})), 8U);
  EXPECT_EQ(stops_at(*low, trials({10, 9, 8, 7, 6, 7, 5, 7, 4, 7, 3, 7})), 10U);
  EXPECT_EQ(stops_at(*high, trials({5, 5, 5, 5, 5, 5, 5, 5, 5})), 8U);
  EXPECT_EQ(stops_at(*low, trials(and_then({10}, 50, kNaN))), 8U);
  const auto no_nan =
      make("SimpleStopper", R"({"mode":"min","metric":"tokens_per_s","count_nan":false})");
  EXPECT_EQ(stops_at(*no_nan, trials(and_then({10}, 50, kNaN))), 0U);
  std::vector<Observation> repeat = trials({10, 9, 8, 7, 6, 5, 4});
  repeat[5].point = repeat[4].point;
  EXPECT_EQ(stops_at(*low, repeat), 6U);
  repeat = trials({10, 9, 8, 7, 6, 5, 4});
  repeat[1].point = repeat[0].point;
  EXPECT_EQ(stops_at(*low, repeat), 0U);
}

TEST_F(Stopping, GrowthStopperVectors) {
  const auto growth = make("GrowthStopper", R"({"mode":"max","metric":"tokens_per_s"})");
  EXPECT_EQ(stops_at(*growth, trials({10, 10, 10, 10})), 4U);
  EXPECT_EQ(stops_at(*growth, trials({10, 100, 100, 100, 100})), 5U);
  // Growth by the threshold begins the count anew; failed trials do not count.
  EXPECT_EQ(stops_at(*growth, trials({10, 10, 10, 11, 11, kNaN, 11, 11})), 8U);
  const auto down = make("GrowthStopper", R"({"mode":"min","metric":"tokens_per_s"})");
  EXPECT_EQ(stops_at(*down, trials({10, 8, 6, 4, 2, 0, 2, 4, 6})), 9U);
}

TEST_F(Stopping, MaxSamplesCountsDifferentPoints) {
  const auto stopper = make("MaxSamplesStopper", "{}", {3});
  std::vector<Observation> history = trials({1, 2, 3, 4});
  history[1].point = history[0].point;
  EXPECT_EQ(stops_at(*stopper, history), 4U);
}

TEST_F(Stopping, RepeatedSampleStopperCountsEachPoint) {
  const auto stopper = make("RepeatedSampleStopper", R"({"max_repeats":3})");
  std::vector<Observation> history = trials({1, 2, 3, 4, 5, 6});
  history[2].point = history[0].point;
  EXPECT_EQ(stops_at(*stopper, history), 0U);
  history[4].point = history[0].point;
  EXPECT_EQ(stops_at(*stopper, history), 5U);
}

TEST_F(Stopping, DifferenceStopperTellsTheSide) {
  const std::string keywords = R"({"metric_a":"tokens_per_s","metric_b":"peak_mem","threshold":)";
  std::vector<Observation> history;
  for (std::uint64_t i = 0; i < 50; ++i) {
    history.push_back({.point = i, .objectives = {0.8 + 0.02 * normal(1, 0, i), 0.7}});
  }
  const auto above = make("BayesianMetricDifferenceStopper", keywords + "0.05}");
  EXPECT_EQ(stops_at(*above, history), 10U);
  EXPECT_EQ(above->report(history).numbers.at("trial").as_int(), 10);
  const auto within = make("BayesianMetricDifferenceStopper", keywords + "0.2}");
  EXPECT_EQ(stops_at(*within, history), 10U);
  EXPECT_LT(within->report(history).numbers.at("probability_above").as_double(), 0.05);
  const auto undecided =
      make("BayesianMetricDifferenceStopper", keywords + R"(0.1,"target_probability":0.9999999})");
  EXPECT_EQ(stops_at(*undecided, history), 0U);
}

// Four differences 1 2 3 4: mean 2.5, error 0.6455; P(t(3) > (1 - 2.5)/0.6455 = -2.3238) =
// 0.94870 and P(t(3) < -5.4222) = 0.00616.
TEST_F(Stopping, DifferenceStopperUsesStudentsTails) {
  const auto stopper =
      make("BayesianMetricDifferenceStopper",
           R"({"metric_a":"tokens_per_s","metric_b":"peak_mem","threshold":1,"min_samples":4})");
  const std::vector<Observation> history = trials({1, 2, 3, 4});
  EXPECT_NEAR(stopper->report(history).numbers.at("probability_above").as_double(), 0.9549, 2e-4);
  const std::vector<Observation> same = trials({3, 3, 3, 3});
  EXPECT_EQ(stopper->report(same).numbers.at("probability_above").as_double(), 1);
}

TEST_F(Stopping, LimitsOfPointsTimeAndCost) {
  std::vector<Observation> history = trials({1, 2, 3, 4, 5});
  for (Observation& trial : history) {
    trial.seconds = 60;
    trial.cost = 0.5;
  }
  EXPECT_EQ(stops_at(*make("count", R"({"points":4})"), history), 4U);
  EXPECT_EQ(stops_at(*make("time", R"({"seconds":150})"), history), 3U);
  EXPECT_EQ(stops_at(*make("cost", R"({"limit":2})"), history), 4U);
  EXPECT_EQ(make("time", R"({"seconds":150})")->report(history).text,
            "5 min 0 s of 2 min 30 s used");
  EXPECT_EQ(
      to_json(make("count", R"({"points":4})")->report(history)).dump(),
      R"({"name":"count","stop":true,"text":"5 of 4 points","numbers":{"used":5,"limit":4}})");
}

TEST_F(Stopping, NoImprovementInSoManyTrials) {
  const auto stopper = make("no_improvement", R"({"trials":3})");
  EXPECT_EQ(stops_at(*stopper, trials({1, 5, 4, kNaN, 6, 6, 6, 6, 6})), 8U);
  EXPECT_EQ(stops_at(*stopper, trials({kNaN, kNaN, kNaN})), 3U);
  const auto percent = make("no_improvement", R"({"trials":2,"min_percent":10})");
  EXPECT_EQ(stops_at(*percent, trials({100, 109, 111, 120, 121})), 5U);
  EXPECT_EQ(percent->report(trials({100, 109})).numbers.at("best").as_double(), 100);
}

TEST_F(Stopping, NoImprovementOfAFront) {
  context_.directions = {Direction::Maximize, Direction::Minimize};
  const auto stopper = make("no_improvement", R"({"trials":2})");
  std::vector<Observation> history;
  for (const auto& [speed, memory] :
       std::vector<std::pair<double, double>>{{10, 5}, {9, 4}, {9, 6}, {11, 7}, {10, 5}, {8, 5}}) {
    history.push_back({.point = history.size(), .objectives = {speed, memory}});
  }
  EXPECT_EQ(stops_at(*stopper, history), 6U);
}

TEST_F(Stopping, NarrowIntervalOfTheBestPoint) {
  const auto stopper = make("narrow_interval", R"({"percent":1})");
  std::vector<Observation> history;
  for (const double value : {100.0, 100.2, 100.1}) {
    history.push_back({.point = 3, .objectives = {value}});
    EXPECT_EQ(stopper->report(history).stop, history.size() == 3);
  }
  // 4.3027 * 0.1 / sqrt(3) of 100.1
  EXPECT_NEAR(stopper->report(history).numbers.at("half_width_percent").as_double(), 0.24816, 1e-4);
  history.push_back({.point = 4, .objectives = {200}});
  EXPECT_FALSE(stopper->report(history).stop);
}

/// The metric follows the batch; the model does not matter.
std::vector<Observation> informative(std::size_t count) {
  std::vector<Observation> history;
  for (std::size_t i = 0; i < count; ++i) {
    const Point point = (i * 3) % 8;
    history.push_back({.point = point,
                       .objectives = {100.0 * std::floor(static_cast<double>(point) / 2) +
                                      static_cast<double>(i % 2)}});
  }
  return history;
}

constexpr const char* kInformation =
    R"({"mi_diff_limit":0.05,"samples_below_limit":5,"consider_pareto_front_convergence":false})";

TEST_F(Stopping, InformationGainStopsWhenTheRankingHolds) {
  const auto stopper = make("InformationGainStopper", kInformation);
  const std::vector<Observation> history = informative(60);
  const std::size_t at = stops_at(*stopper, history);
  EXPECT_GT(at, 9U);
  EXPECT_LT(at, 40U);
  const Json numbers = stopper->report(history).numbers;
  const Json& first = numbers.at("dimensions").as_array().at(0);
  EXPECT_EQ(first.at("dimension").as_string(), "batch");
  EXPECT_EQ(first.at("rank").as_int(), 1);
  EXPECT_NEAR(first.at("mi").as_double(), std::log(4), 0.02);
  EXPECT_EQ(numbers.at("dimensions").as_array().size(), 2U);
}

TEST_F(Stopping, InformationGainDegradesToNotConverged) {
  const auto stopper = make("InformationGainStopper", kInformation);
  EXPECT_EQ(stopper->report(informative(3)).text, "3 valid trials, 4 needed");
  std::vector<Observation> same = informative(40);
  for (Observation& trial : same) {
    trial.objectives = {7};
  }
  const StopReport report = stopper->report(same);
  EXPECT_FALSE(report.stop);
  EXPECT_EQ(report.text, "not converged: the metric does not fall into clusters");
  // One dimension with a choice is no reason to fail.
  const FiniteSpace line({{"batch", {1, 2, 4, 8, 16, 32, 64, 128}}});
  context_.space = &line;
  EXPECT_GT(stops_at(*make("InformationGainStopper", kInformation), informative(60)), 0U);
}

TEST_F(Stopping, TellsWhatIsWrong) {
  EXPECT_THAT(faults("SimpelStopper", "{}"),
              ElementsAre("there is no stopper 'SimpelStopper' - did you mean 'SimpleStopper'?"));
  EXPECT_THAT(
      faults("SimpleStopper", R"({"metric":"token_per_s","min_trails":5,"mode":"up"})"),
      ElementsAre("SimpleStopper wants metric to be a metric of the search, not \"token_per_s\" - "
                  "did you mean 'tokens_per_s'?",
                  "SimpleStopper has no parameter 'min_trails' - did you mean 'min_trials'?",
                  "SimpleStopper wants mode to be min or max, not \"up\""));
  EXPECT_THAT(faults("MaxSamplesStopper", "{}"),
              ElementsAre("MaxSamplesStopper needs max_samples"));
  EXPECT_THAT(faults("count", R"({"points":3})", {4}), ElementsAre("count is given points twice"));
  EXPECT_THAT(faults("count", "{}", {4, 5}), ElementsAre("count takes 1 parameters, not 2"));
  EXPECT_THAT(faults("count", R"({"points":2.5})"),
              ElementsAre("count wants points to be a whole number from 1, not 2.5"));
  EXPECT_THAT(faults("time", R"({"seconds":"soon"})"),
              ElementsAre("time wants seconds to be a number above 0, not \"soon\""));
  EXPECT_THAT(
      faults(
          "BayesianMetricDifferenceStopper",
          R"({"metric_a":"peak_mem","metric_b":"peak_mem","threshold":-1,"target_probability":1})"),
      ElementsAre(
          "BayesianMetricDifferenceStopper wants threshold to be a number from 0, not -1",
          "BayesianMetricDifferenceStopper wants target_probability to be between 0 and 1, not 1"));
  EXPECT_THAT(faults("count", "[3]"),
              ElementsAre("count takes named parameters, not an array", "count needs points"));
}

TEST_F(Stopping, OneOfThemIsEnough) {
  std::vector<std::unique_ptr<Stopper>> stoppers;
  stoppers.push_back(make("count", R"({"points":100})"));
  stoppers.push_back(make("no_improvement", R"({"trials":2})"));
  const std::vector<StopReport> reports = stop_reports(stoppers, trials({3, 2, 1}));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_FALSE(reports[0].stop);
  EXPECT_TRUE(reports[1].stop);
  EXPECT_EQ(reports[1].text, "no improvement in 2 trials, limit 2");
  EXPECT_EQ(stopper_names().size(), 11U);
}

}  // namespace
}  // namespace tunebench::search
