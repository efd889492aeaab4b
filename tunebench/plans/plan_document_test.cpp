#include "tunebench/plans/plan_document.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/plans/internal/plan_sections.h"
#include "tunebench/plans/test_options.h"

namespace tunebench::plans {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  PlanDocument document;
  std::vector<std::string> problems;
};

Read read(std::string_view text) {
  Read result;
  Diagnostics problems;
  const auto documents = config::parse_yaml(text, "plan.yaml", problems);
  if (!documents.empty()) {
    result.document = read_plan(documents[0], test_options(), problems);
  }
  for (const Diagnostic& problem : problems) {
    result.problems.push_back(problem.text_block());
  }
  return result;
}

PlanDocument good(std::string_view text) {
  Read result = read(text);
  EXPECT_THAT(result.problems, IsEmpty()) << text;
  return std::move(result.document);
}

std::vector<Json> values(std::string_view name, std::string_view yaml) {
  const PlanDocument document =
      good("inputs:\n  " + std::string(name) + ": " + std::string(yaml) + "\n");
  return document.inputs.empty() ? std::vector<Json>{} : document.inputs[0].values;
}

TEST(ReadPlan, OptionsAreKeys) {
  const PlanDocument document =
      good("repeats: 3\nuntil: 1%\nfresh: yes\nforce: false\norder: random\ntimeout: 1e3\n");
  std::vector<std::string> options;
  for (const config::GivenOption& option : document.options) {
    options.push_back(option.name + "=" + option.value + " " + option.spelled);
  }
  EXPECT_THAT(options, ElementsAre("repeats=3 plan.yaml:1:10", "until=1% plan.yaml:2:8",
                                   "order=random plan.yaml:5:8", "fresh= plan.yaml:3:8",
                                   "timeout=1e3 plan.yaml:6:10"));
}

TEST(ReadPlan, InputsTakeValuesListsAndRanges) {
  EXPECT_THAT(values("batch_size", "4"), ElementsAre(4));
  EXPECT_THAT(values("batch_size", "[8, 4, 8]"), ElementsAre(8, 4));
  EXPECT_THAT(values("batch_size", "1..4"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values("batch_size", "[1..2, 8..32*2]"), ElementsAre(1, 2, 8, 16, 32));
  EXPECT_THAT(values("batch_size", "{from: 1, to: 128, count: 8}"),
              ElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_THAT(values("batch_size", "{from: 2, to: 9, step: 3}"), ElementsAre(2, 5, 8));
  EXPECT_THAT(values("learning_rate", "{from: 1e-6, to: 1e-3, factor: 10}"),
              ElementsAre(1e-6, 1e-5, 1e-4, 1e-3));
  EXPECT_THAT(values("learning_rate", "{from: 0, to: 0.9, step: 0.3}"),
              ElementsAre(0.0, 0.3, 0.6, 0.9));
  EXPECT_THAT(values("fms_hf_tuning_version", "[3.0.0, \"2.8.2\"]"), ElementsAre("3.0.0", "2.8.2"));
  EXPECT_THAT(values("model_name", "[123, yes, ~x]"), ElementsAre("123", "yes", "~x"));
  EXPECT_THAT(values("gradient_checkpointing", "[yes, false]"), ElementsAre(true, false));
  EXPECT_THAT(values("gpu_model", "[null, L40S]"), ElementsAre(Json(), "L40S"));
  EXPECT_THAT(values("fast_kernels", "[\"True\", \"True\", \"True\"]"),
              ElementsAre(Json::array({"True", "True", "True"})));
  EXPECT_THAT(values("fast_kernels", "[null, [\"True\", \"True\", \"True\"]]"),
              ElementsAre(Json(), Json::array({"True", "True", "True"})));
  EXPECT_THAT(values("max-steps", "5"), ElementsAre(5)) << "dashes equal underscores";
}

TEST(ReadPlan, OrderOfTheFileIsTheOrderOfTheInputs) {
  const PlanDocument document = good("inputs: {batch_size: 1, model_name: tiny, max_steps: 2}\n");
  EXPECT_EQ(document.inputs[0].property, "batch_size");
  EXPECT_EQ(document.inputs[2].property, "max_steps");
  EXPECT_EQ(document.inputs[2].where, "plan.yaml:1:43");
}

TEST(ReadPlan, ReadsTheSections) {
  const PlanDocument document = good(R"(
experiments:
  - experiment: finetune_full_benchmark
    inputs: {max_steps: 20}
  - experiment: finetune_full_benchmark-v1.0.0
where: batch_size % 2 == 0
search: {method: tpe, seed: 3, startup: 10}
optimize: {max: tokens_per_s, min: [host_peak_bytes]}
stop: {points: 20, time: 2 h, cost: 12.5, no_improvement: 8, interval: 1%}
compare: {baseline: brisk-otter, by: [batch_size]}
fail_if: [tokens_per_s < -3%]
)");
  ASSERT_EQ(document.experiments.size(), 2U);
  EXPECT_EQ(document.experiments[0].given[0].values[0], Json(20));
  EXPECT_EQ(document.rules[0].text, "batch_size % 2 == 0");
  EXPECT_EQ(document.search.method, "tpe");
  EXPECT_EQ(document.search.parameters.dump(), R"({"seed":3,"startup":10})");
  ASSERT_EQ(document.search.objectives.size(), 2U);
  EXPECT_TRUE(document.search.objectives[0].maximize);
  EXPECT_EQ(document.search.objectives[1].metric, "host_peak_bytes");
  EXPECT_FALSE(document.search.objectives[1].maximize);
  EXPECT_EQ(document.stop.points, 20);
  EXPECT_EQ(document.stop.time_s, 7200);
  EXPECT_EQ(document.stop.cost, 12.5);
  EXPECT_EQ(document.stop.no_improvement, 8);
  EXPECT_EQ(document.stop.interval, 0.01);
  EXPECT_EQ(document.compare->baseline, "brisk-otter");
  EXPECT_EQ(document.fail_if[0].text, "tokens_per_s < -3%");
  EXPECT_EQ(good("optimize: tokens_per_s\n").search.objectives[0].maximize, true);
  EXPECT_EQ(good("optimize: [min tokens_per_s]\n").search.objectives[0].maximize, false);
  EXPECT_EQ(good("search: random\n").search.method, "random");
  EXPECT_EQ(seconds_of("90"), 90);
  EXPECT_EQ(seconds_of("10 min"), 600);
}

// The message of spec/experience.md, part 4.
TEST(ReadPlan, TellsAllTyposAtOnceAsPromised) {
  const Read result = read(R"(# what to measure
repeats: 3
timeout: 900
fresh: true


inputs:
    model_name: smollm2-135m
    bacth_size: [4, 8]
    model_max_length: 512

search: tpe

optimize: token_per_s
)");
  EXPECT_THAT(result.problems,
              ElementsAre("plan.yaml:9:5: unknown input 'bacth_size'\n"
                          "   9 |     bacth_size: [4, 8]\n"
                          "     |     ^^^^^^^^^^ did you mean 'batch_size'?",
                          "plan.yaml:14:11: unknown metric 'token_per_s' in 'optimize' - did you "
                          "mean 'tokens_per_s'?"));
}

TEST(ReadPlan, RefusesWithPlaceAndNearestWord) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"repeat: 3\n", "plan.yaml:1:1: unknown key 'repeat'"},
      {"repeats: [3]\n", "plan.yaml:1:10: 'repeats' is a list but must be one value"},
      {"fresh: maybe\n", "plan.yaml:1:8: 'fresh' is 'maybe' but must be true or false"},
      {"inputs: {batch_size: 0}\n",
       "plan.yaml:1:22: batch_size is 0 but must be 1 … 4096 - nearest: 1"},
      {"inputs: {batch_size: \"4\"}\n",
       "plan.yaml:1:22: batch_size is '4' but must be a whole number, 1 … 4096"},
      {"inputs: {batch_size: 010}\n",
       "plan.yaml:1:22: batch_size is '010' but must be a whole number"},
      {"inputs: {batch_size: .nan}\n", "plan.yaml:1:22: batch_size is nan but must be 1 … 4096"},
      {"inputs: {batch_size: 1e-5}\n", "plan.yaml:1:22: batch_size is 1e-05 but must be"},
      {"inputs: {batch_size: 8..1}\n", "plan.yaml:1:22: batch_size: '8..1' runs backwards"},
      {"inputs: {batch_size: []}\n", "plan.yaml:1:22: batch_size has no value"},
      {"inputs: {batch_size: {from: 1}}\n", "plan.yaml:1:22: batch_size: a range has from, to"},
      {"inputs: {batch_size: {from: 1, to: 8, step: 1, count: 2}}\n",
       "a range has from, to and one of"},
      {"inputs: {batch_size: {from: 1, to: 8, stp: 2}}\n", "plan.yaml:1:39: unknown key 'stp'"},
      {"inputs: {batch_size: {from: 8, to: 1, step: 2}}\n", "batch_size: the range runs backwards"},
      {"inputs: {model_name: {from: 1, to: 2}}\n", "plan.yaml:1:22: model_name takes no range"},
      {"inputs: {torch_dtype: bfloat17}\n", "did you mean 'bfloat16'?"},
      {"inputs: {dataset_id: }\n", "plan.yaml:1:"},
      {"inputs: 4\n", "plan.yaml:1:9: 'inputs' is 4 but must be a mapping of keys"},
      {"where: 4\n", "plan.yaml:1:8: 'where' is 4 but must be a text, or a list of texts"},
      {"search: {methd: tpe}\n", "'search' has no 'method'"},
      {"search: {method: tpee}\n", "plan.yaml:1:18: 'method' is 'tpee' but must be one of"},
      {"search: {method: tpe, sed: 4}\n",
       "plan.yaml:1:23: unknown parameter of search 'tpe' 'sed'"},
      {"search: {method: grouped, grouping: [modle_name]}\n", "did you mean 'model_name'?"},
      {"optimize: weights\n", "plan.yaml:1:11: metric 'weights' in 'optimize' is no number"},
      {"optimize: {mox: tokens_per_s}\n", "plan.yaml:1:12: unknown key 'mox'"},
      {"stop: {points: 0}\n",
       "plan.yaml:1:16: 'points' is 0 but must be a whole number of at least 1"},
      {"stop: {time: soon}\n", "'time' is 'soon' but must be a time above 0: 90, 10 min, 2 h"},
      {"stop: {tim: 3}\n", "did you mean 'time'?"},
      {"fail_if: tokens_per_s\n", "'fail_if' is 'tokens_per_s' but must be a metric and a change"},
      {"fail_if: tokens_per_sec < -3%\n", "unknown metric 'tokens_per_sec' in 'fail_if'"},
      {"compare: {by: [batch_size]}\n", "'compare' has no 'baseline'"},
      {"experiments: [{experiment: finetune_ful_benchmark}]\n",
       "plan.yaml:1:28: unknown experiment"},
      {"experiment: finetune_full_benchmark\nexperiments: [{experiment: "
       "finetune_full_benchmark}]\n",
       "'experiment' and 'experiments' are both given"},
  };
  for (const auto& [text, expected] : cases) {
    const Read result = read(text);
    ASSERT_FALSE(result.problems.empty()) << text;
    EXPECT_THAT(testing::PrintToString(result.problems), HasSubstr(expected)) << text;
  }
}

TEST(ReadPlan, ManyMistakesTakeNoTime) {
  std::string keys;
  std::string items = "inputs: {optim: [x";
  for (int i = 0; i < 60'000; ++i) {
    keys += "k" + std::to_string(i) + ": 1\n";
    items += ", adamw_torc" + std::to_string(i);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read(keys).problems.size(), 51U);
  EXPECT_LE(read(items + "]}\n").problems.size(), 53U);
  EXPECT_EQ(values("seed", "0..999999").size(), 1'000'000U);
#ifndef TB_SANITIZED
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
#else
  static_cast<void>(begin);
#endif
}

TEST(ReadPlan, MistakesOfRulesAreMarkedInTheFile) {
  Diagnostics problems;
  const auto documents =
      config::parse_yaml("where:\n  - \"bacth_size % 2 == 0\"\n", "plan.yaml", problems);
  PlanDocument document = read_plan(documents[0], test_options(), problems);
  campaign::Request request{
      .experiment = experiment::find_experiment("finetune_full_benchmark"),
      .given = {{"model_name", {"tiny"}}, {"batch_size", {1}}, {"model_max_length", {32}}}};
  apply(document, request);
  EXPECT_FALSE(campaign::space_of(request, problems));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].text_block(),
            "plan.yaml:2:6: unknown name 'bacth_size'\n"
            "   2 |   - \"bacth_size % 2 == 0\"\n"
            "     |      ^^^^^^^^^^ did you mean 'batch_size'?");
}

TEST(PlanText, ReadsBackAsTheSame) {
  const char* text = R"(
repeats: 3
until: 1%
fresh: true
timeout: 1e3
keep_invalid: true
command: [python, train.py, --epochs, 2, "{model_name}", "a b: #"]
inputs:
  model_name: ["a,b", tiny, "12"]
  batch_size: 1..4
  learning_rate: {from: 1e-6, to: 1e-3, factor: 10}
  gpu_model: [null, L40S]
  fast_kernels: ["True", "True", "True"]
  fms_hf_tuning_version: 3.0.0
  gradient_checkpointing: [true, false]
  response_template: "\n### Response: 'x' # \"y\""
experiments:
  - experiment: finetune_full_benchmark
    inputs: {max_steps: [20, 30]}
where:
  - model_name == 'a,b' or batch_size > 2
search: {method: tpe, seed: 3, first: [{batch_size: 4}]}
optimize: {max: tokens_per_s, min: [host_peak_bytes]}
stop: {points: 20, time: 2 h, cost: 12.5, no_improvement: 8, interval: 1%}
compare: {baseline: brisk-otter, by: [batch_size]}
fail_if: [tokens_per_s < -3%]
)";
  const PlanDocument document = good(text);
  const std::string written = plan_text(document);
  const PlanDocument again = good(written);
  EXPECT_EQ(plan_text(again), written);
  ASSERT_EQ(again.inputs.size(), document.inputs.size());
  for (std::size_t i = 0; i < document.inputs.size(); ++i) {
    EXPECT_EQ(again.inputs[i].property, document.inputs[i].property);
    EXPECT_EQ(again.inputs[i].values, document.inputs[i].values) << again.inputs[i].property;
  }
  ASSERT_EQ(again.options.size(), document.options.size());
  for (std::size_t i = 0; i < document.options.size(); ++i) {
    EXPECT_EQ(again.options[i].name, document.options[i].name);
    EXPECT_EQ(again.options[i].value, document.options[i].value);
  }
  EXPECT_EQ(again.experiments[0].given[0].values, document.experiments[0].given[0].values);
  EXPECT_EQ(again.rules[0].text, document.rules[0].text);
  EXPECT_EQ(again.search.parameters, document.search.parameters);
  EXPECT_EQ(again.stop.time_s, document.stop.time_s);
  EXPECT_EQ(again.stop.interval, document.stop.interval);
  EXPECT_TRUE(again.keep_invalid);
  EXPECT_THAT(again.command,
              ElementsAre("python", "train.py", "--epochs", "2", "{model_name}", "a b: #"));
  EXPECT_EQ(again.compare->by, document.compare->by);
  EXPECT_EQ(again.fail_if[0].text, document.fail_if[0].text);
}

TEST(Apply, TheCommandLineWins) {
  const PlanDocument document = good(
      "repeats: 3\nfresh: true\ninputs: {model_name: tiny, batch_size: [1, 2]}\n"
      "experiments: [{experiment: finetune_full_benchmark, inputs: {max_steps: 4}}]\n"
      "where: batch_size > 1\n");
  const config::CommandLine line{.options = {{"repeats", "--repeats", "5"}}};
  const config::CommandLine merged = with_options(line, document);
  EXPECT_EQ(merged.value("repeats"), "5");
  EXPECT_THAT(merged.words_after, IsEmpty());
  EXPECT_THAT(with_options(line, good("command: [a, b]")).words_after, ElementsAre("a", "b"));
  config::CommandLine own = line;
  own.words_after = {"c"};
  EXPECT_THAT(with_options(own, good("command: [a, b]")).words_after, ElementsAre("c"));
  EXPECT_TRUE(merged.has("fresh"));
  campaign::Request request{.given = {{"max_steps", {9}}, {"batch_size", {8}}},
                            .rules = {{"batch_size < 9", "--where"}}};
  apply(document, request);
  ASSERT_EQ(request.given.size(), 3U);
  EXPECT_EQ(request.given[1].property, "batch_size") << "its place in the order is the file's";
  EXPECT_THAT(request.given[1].values, ElementsAre(8));
  EXPECT_EQ(request.given[2].property, "max_steps");
  EXPECT_THAT(request.experiments[0].given, IsEmpty());
  EXPECT_EQ(request.rules.size(), 2U) << "rules add up";
}

}  // namespace
}  // namespace tunebench::plans
