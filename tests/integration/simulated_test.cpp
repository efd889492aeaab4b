// Repeats, stability and what is kept apart, over the simulated trainer and the native one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSteady =
    R"({"time_scale":0,"load_s":1,"step":{"base_s":0.5,"per_token_s":0.001,"run_noise":{"sd":0.01}}})";

std::vector<std::string> simulated_run(const std::string& model,
                                       std::vector<std::string> more = {}) {
  std::vector<std::string> words{"run",       "-m",        "tiny",         "-l", "32",
                                 "--trainer", "simulated", "--simulation", model};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Simulated, RepeatsThreeTimesAndShowsIntervalAndVariation) {
  Session session;
  const std::string model = session.write("model.json", kSteady);
  const Said said = session.run(simulated_run(model, {"-b", "1,2"}));
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.err, HasSubstr("plan: 2 points x 3 repeats, 0 reused"));
  EXPECT_THAT(said.out, HasSubstr("batch  tokens/s  95% CI     CV  n"));
  EXPECT_THAT(said.out, HasSubstr("simulated: numbers of a model, nothing was measured"));
  const Said again = session.run(simulated_run(model, {"-b", "1,2"}));
  EXPECT_EQ(again.out, said.out);
  EXPECT_THAT(again.err, HasSubstr("6 reused"));
}

TEST(Simulated, StandsNowhereBesideMeasuredNumbersUnlessAsked) {
  Session session;
  const std::string model = session.write("model.json", kSteady);
  ASSERT_EQ(session.run({"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "5"}).exit.code,
            0);
  ASSERT_EQ(session.run(simulated_run(model, {"-b", "1"})).exit.code, 0);
  EXPECT_EQ(session.exported().as_array().size(), 1U);
  const Said all = session.run({"export", "--json", "--simulated"});
  ASSERT_EQ(Json::parse(all.out, "export").as_array().size(), 2U);
  EXPECT_EQ(Json::parse(all.out, "export").as_array()[1].at("trainer").as_string(), "simulated");
  EXPECT_EQ(Json::parse(session.run({"runs", "--json"}).out, "runs").as_array().size(), 1U);
  EXPECT_THAT(session.run({"runs"}).err, HasSubstr("1 simulated runs are left out"));
  EXPECT_EQ(
      Json::parse(session.run({"runs", "--json", "--simulated"}).out, "runs").as_array().size(),
      2U);
  EXPECT_THAT(session.run({"show", "@last"}).out, HasSubstr("no measurements"));
  EXPECT_THAT(session.run({"show", "@last", "--simulated"}).out, HasSubstr("tokens/s"));
}

TEST(Simulated, AnotherModelIsMeasuredAgain) {
  Session session;
  const std::string model = session.write("model.json", kSteady);
  ASSERT_EQ(session.run(simulated_run(model, {"-b", "1"})).exit.code, 0);
  EXPECT_THAT(session.run(simulated_run(model, {"-b", "1"})).err, HasSubstr("1 reused"));
  session.write("model.json", R"({"time_scale":0,"step":{"base_s":2}})");
  EXPECT_THAT(session.run(simulated_run(model, {"-b", "1"})).err, HasSubstr("0 reused"));
}

TEST(Simulated, UntilRepeatsANoisyPoint) {
  Session session;
  const std::string model =
      session.write("model.json", R"({"time_scale":0,"step":{"base_s":1,"run_noise":{"sd":0.1}}})");
  const Said said =
      session.run(simulated_run(model, {"-b", "1", "--until", "0.1%", "--max-repeats", "6"}));
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.err, HasSubstr("x 3 to 6 repeats"));
  EXPECT_EQ(
      Json::parse(session.run({"export", "--json", "--simulated"}).out, "export").as_array().size(),
      6U);
}

TEST(Simulated, AModelThatIsWrongIsOneLine) {
  Session session;
  const std::string model = session.write("model.json", R"({"step":{"base":1}})");
  const Said said = session.run(simulated_run(model, {"-b", "1"}));
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("model.json: step.base is not known"));
}

TEST(Stability, IsTheShareOfFailedRunsByKind) {
  Session session;
  const std::string model = session.write("model.json", R"({"time_scale":0,"step":{"base_s":1},
      "failures":[{"runs":[1,3],"step":2,"error":"oom_gpu","message":"no room"},
                  {"runs":[4],"step":0,"error":"oom_host"},{"runs":[5],"step":3,"signal":11}]})");
  const std::vector<std::string> words =
      simulated_run(model, {"-b", "1", "--experiment", "finetune_full_stability"});
  const Said said = session.run(words);
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.err, HasSubstr("plan: 1 point x 5 runs"));
  EXPECT_THAT(said.out, HasSubstr("0.4         0.2            0.2         0.2         1"));
  EXPECT_THAT(session.run({"show", "--simulated"}).out, HasSubstr(said.out.substr(0, 200)));

  const Said shown = session.run({"show", "--json", "--simulated"});
  const Json point = Json::parse(shown.out, "show").at("points").as_array()[0];
  const Json row =
      Json::parse(session.run({"export", "--aggregate", "--simulated", "--json"}).out, "export")
          .as_array()[0];
  for (const Json& one : {point, row}) {
    EXPECT_EQ(one.at("f_gpu_oom").as_double(), 0.4);
    EXPECT_EQ(one.at("f_host_oom").as_double(), 0.2);
    EXPECT_EQ(one.at("f_other_error").as_double(), 0.2);
    EXPECT_EQ(one.at("f_no_error").as_double(), 0.2);
    EXPECT_TRUE(one.at("is_valid").as_bool());
  }
  EXPECT_THAT(session.run(words).err, HasSubstr("5 reused"));
}

TEST(Stability, OfTheNativeTrainerUnderAMemoryBound) {
  Session session;
  const auto shares = [&session](std::vector<std::string> more) {
    std::vector<std::string> words{
        "run",   "-m", "tiny", "-l", "32", "-b", "1", "--experiment", "finetune_full_stability",
        "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = session.run(words);
    EXPECT_EQ(said.exit.code, 0) << said.err;
    return Json::parse(said.out, "run");
  };
  const Json bounded = shares({"--memory-limit-gib", "0.0005"});
  EXPECT_EQ(bounded.at("records").as_array().size(), 5U);
  EXPECT_EQ(bounded.at("points").as_array()[0].at("f_host_oom").as_double(), 1.0);
  EXPECT_TRUE(bounded.at("points").as_array()[0].at("is_valid").as_bool());
  const Json free = shares({});
  EXPECT_EQ(free.at("points").as_array()[0].at("f_no_error").as_double(), 1.0);
  for (const Json& record : free.at("records").as_array()) {
    EXPECT_EQ(record.at("steps_total").as_int(), 5);
  }
}

TEST(Memory, APointThatDoesNotFitIsRefusedWithNumbersUnlessForced) {
  Session session;
  const std::vector<std::string> words{"run",   "-m", "tiny",        "-l", "32",
                                       "-b",    "1",  "--max-steps", "3",  "--memory-limit-gib",
                                       "0.0005"};
  const Said refused = session.run(words);
  EXPECT_EQ(refused.exit.code, 3);
  EXPECT_THAT(refused.out, HasSubstr("oom_host: needs "));
  EXPECT_THAT(refused.out, HasSubstr(", may use 524 KiB; --force tries anyway"));
  const Json row = session.exported().as_array()[0];
  EXPECT_GT(row.at("needed_bytes").as_int(), 536'870);
  EXPECT_EQ(row.at("failed_phase").as_string(), "load");
  std::vector<std::string> forced = words;
  forced.emplace_back("--force");
  const Said tried = session.run(forced);
  EXPECT_EQ(tried.exit.code, 0) << tried.err;
  EXPECT_EQ(session.exported().as_array()[1].at("recompute").as_string(), "block");
}

TEST(Price, IsWorkedOutWhenShownAndNeverStored) {
  Session session;
  const std::vector<std::string> words{"run", "-m", "tiny",        "-l", "32",
                                       "-b",  "1",  "--max-steps", "5"};
  ASSERT_EQ(session.run(words).exit.code, 0);
  const Said priced = session.run({"export", "--json", "--price", "0.36"});
  const Json row = Json::parse(priced.out, "export").as_array()[0];
  EXPECT_NEAR(row.at("cost_per_mtok").as_double() * row.at("tokens_per_s").as_double(), 100, 1e-6);
  EXPECT_TRUE(session.exported().as_array()[0].at("cost_per_mtok").is_null());
  EXPECT_THAT(session.run({"show", "--price", "0.36"}).out, HasSubstr("cost/Mtok"));
  EXPECT_THAT(session.run({"show"}).out, Not(HasSubstr("cost/Mtok")));
}

}  // namespace
}  // namespace tunebench::integration
