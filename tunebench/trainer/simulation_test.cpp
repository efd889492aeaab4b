#include "tunebench/trainer/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::trainer {
namespace {

using testing::ElementsAre;

TEST(Simulation, ReadsEveryMember) {
  const Simulation simulation = parse_simulation(R"({
    "seed": 7, "time_scale": 0.5, "load_s": 2, "save_s": 1.5, "padding": 0.1,
    "step": {"base_s": 0.25, "per_token_s": 1e-5,
             "noise": {"sd": 0.02}, "run_noise": {"kind": "normal", "sd": 0.01},
             "drift_per_step": 0.001, "drift_per_run": -0.02,
             "warmup": {"extra": 3, "steps": 2},
             "outliers": {"steps": 0.01, "runs": 0.1, "factor": 2}},
    "memory": {"base_bytes": 1000, "per_token_bytes": 10, "limit_bytes": 5000, "kind": "oom_host"},
    "failures": [{"runs": [1, 3], "attempts": [1], "step": 2, "error": "cuda", "message": "m"},
                 {"step": 0, "signal": 11}, {"exit": 3, "log": "text"}, {"hang": true}]})",
                                                 "model.json");
  EXPECT_EQ(simulation.seed, 7U);
  EXPECT_EQ(simulation.time_scale, 0.5);
  EXPECT_EQ(simulation.load_s, 2);
  EXPECT_EQ(simulation.save_s, 1.5);
  EXPECT_EQ(simulation.padding, 0.1);
  EXPECT_EQ(simulation.step_s, 0.25);
  EXPECT_EQ(simulation.token_s, 1e-5);
  EXPECT_FALSE(simulation.step_noise.normal);
  EXPECT_EQ(simulation.step_noise.sd, 0.02);
  EXPECT_TRUE(simulation.run_noise.normal);
  EXPECT_EQ(simulation.run_noise.sd, 0.01);
  EXPECT_EQ(simulation.drift_per_step, 0.001);
  EXPECT_EQ(simulation.drift_per_run, -0.02);
  EXPECT_EQ(simulation.warmup_extra, 3);
  EXPECT_EQ(simulation.warmup_steps, 2);
  EXPECT_EQ(simulation.outlier_steps, 0.01);
  EXPECT_EQ(simulation.outlier_runs, 0.1);
  EXPECT_EQ(simulation.outlier_factor, 2);
  EXPECT_EQ(simulation.memory_bytes, 1000);
  EXPECT_EQ(simulation.memory_token_bytes, 10);
  EXPECT_EQ(simulation.memory_limit_bytes, 5000);
  EXPECT_EQ(simulation.memory_kind, "oom_host");
  ASSERT_EQ(simulation.failures.size(), 4U);
  EXPECT_THAT(simulation.failures[0].runs, ElementsAre(1, 3));
  EXPECT_THAT(simulation.failures[0].attempts, ElementsAre(1));
  EXPECT_EQ(simulation.failures[0].step, 2);
  EXPECT_EQ(simulation.failures[0].error, "cuda");
  EXPECT_EQ(simulation.failures[0].message, "m");
  EXPECT_EQ(simulation.failures[1].step, 0);
  EXPECT_EQ(simulation.failures[1].signal, 11);
  EXPECT_EQ(simulation.failures[2].exit_code, 3);
  EXPECT_EQ(simulation.failures[2].log, "text");
  EXPECT_TRUE(simulation.failures[3].hang);
}

TEST(Simulation, ItsTextIsReadBackAndDoesNotDependOnTheLayout) {
  const Simulation first = parse_simulation(R"({"step":{"base_s":1.0},"seed":2})", "a");
  const Simulation second = parse_simulation("{ \"seed\": 2,\n\"step\": {\"base_s\": 1} }", "b");
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(parse_simulation(first.text, "c").text, first.text);
}

struct Bad {
  const char* text;
  const char* message;
};
class BadSimulation : public testing::TestWithParam<Bad> {};

TEST_P(BadSimulation, IsRefusedInOneLine) {
  try {
    parse_simulation(GetParam().text, "m.json");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error.message(), std::string("m.json: ") + GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadSimulation,
    testing::Values(
        Bad{"[]", "the document is an array, it must be an object"}, Bad{"{}", "step is missing"},
        Bad{R"({"step":{}})", "step needs base_s or per_token_s above 0"},
        Bad{R"({"step":{"base_s":-1}})",
            "step.base_s is -1, it must be a number from 0 to 32000000"},
        Bad{R"({"step":{"base_s":"1"}})",
            "step.base_s is \"1\", it must be a number from 0 to 32000000"},
        Bad{R"({"step":{"bases_s":1,"base_s":1}})",
            "step.bases_s is not known - did you mean 'base_s'?"},
        Bad{R"({"sead":1,"step":{"base_s":1}})", "sead is not known - did you mean 'seed'?"},
        Bad{R"({"seed":1.5,"step":{"base_s":1}})",
            "seed is 1.5, it must be a whole number of at least 0"},
        Bad{R"({"step":{"base_s":1,"noise":{"kind":"pink"}}})",
            "step.noise.kind is 'pink', it must be one of lognormal, normal"},
        Bad{R"({"step":{"base_s":1},"failures":{}})", "failures is an object, it must be a list"},
        Bad{R"({"step":{"base_s":1},"failures":[{"step":2}]})",
            "failures[0] needs one of error, signal, exit, hang, or a log"},
        Bad{R"({"step":{"base_s":1},"failures":[{"signal":9,"exit":1}]})",
            "failures[0] needs one of error, signal, exit, hang, or a log"},
        Bad{R"({"step":{"base_s":1},"failures":[{"runs":[0],"signal":9}]})",
            "failures[0].runs must be a list of whole numbers of at least 1"},
        Bad{R"({"step":{"base_s":1},"failures":[{"error":"oom"}]})",
            "failures[0].error is 'oom', it must be one of oom_gpu, oom_host, invalid_config, "
            "timeout, nccl, cuda, io, killed, crashed"}));

}  // namespace
}  // namespace tunebench::trainer
