// Plan files, files of ado and the command plan, through the whole program.
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSimulation = R"({"step": {"base_s": 0.01}, "time_scale": 0})";

std::string ado(const std::string& name) {
  return (std::filesystem::path(TB_ADO_FILES) / name).string();
}

/// Title, state and inputs of each point, in order; free memory differs from call to call.
std::vector<std::string> what_points_are(const Json& preview) {
  std::vector<std::string> texts;
  for (const Json& point : preview.at("points").as_array()) {
    std::string text;
    for (const char* key : {"title", "status", "excluded_by", "experiment", "wanted", "inputs"}) {
      text += point.at(key).dump() + ' ';
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST(PlanCommand, TellsEveryPointAndWritesNothing) {
  Session session;
  const Said said = session.run({"plan", "-m", "tiny", "-l", "32,64", "-b", "1..3", "--where",
                                 "batch_size * model_max_length <= 96"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("length=32 batch=3  new"));
  EXPECT_THAT(said.out, HasSubstr("length=64 batch=2  excluded"));
  EXPECT_THAT(said.out, HasSubstr("by batch_size * model_max_length <= 96"));
  EXPECT_THAT(said.out, HasSubstr("plan: 4 points x 3 repeats, 12 to measure, 0 reused\n"
                                  "2 points excluded by `batch_size * model_max_length <= 96`\n"
                                  "time: about "));
  EXPECT_FALSE(std::filesystem::exists(session.store())) << "not even an empty store";
}

TEST(PlanCommand, TenOfABillionPointsWalkOverNoPoint) {
  Session session;
  const auto begin = std::chrono::steady_clock::now();
  const Said said = session.run({"plan", "-m", "tiny", "-l", "2..501", "-b", "1..1000", "--seed",
                                 "1..2000", "--where", "batch_size % 10 == 0", "--where",
                                 "seed >= model_max_length", "--limit", "10", "--json"});
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(said.exit.code, 0) << said.err;
  const Json preview = Json::parse(said.out, "plan");
  EXPECT_EQ(preview.at("size").as_double(), 1e9);
  EXPECT_TRUE(preview.at("exact").as_bool());
  // Sum over lengths 2 to 501 of 2001 - length, times 100 batches.
  EXPECT_EQ(preview.at("points_kept").as_double(), (500.0 * 2001 - 503.0 * 250) * 100);
  EXPECT_EQ(preview.at("points").as_array().size(), 10U);
  // 0.03 s on a quiet machine; walking over the points would take hours.
  EXPECT_LT(took, std::chrono::seconds(60));
}

TEST(PlanCommand, PrintsASchema) {
  Session session;
  const Said said = session.run({"plan", "--schema"});
  EXPECT_EQ(said.exit.code, 0);
  const Json schema = Json::parse(said.out, "schema");
  for (const char* key : {"repeats", "order", "inputs", "where", "search", "stop", "price"}) {
    EXPECT_NE(schema.at("properties").find(key), nullptr) << key;
  }
  EXPECT_EQ(schema.at("properties").find("save_plan"), nullptr);
}

TEST(PlanFile, RunsAndIsReused) {
  Session session;
  session.write("plan.yaml",
                "repeats: 1\ninputs:\n  model_name: tiny\n  model_max_length: 32\n"
                "  batch_size: 1..4*2\n  max_steps: 3\nwhere: batch_size < 4\n");
  const std::string plan = (session.folder() / "plan.yaml").string();
  const Said first = session.run({"run", plan});
  EXPECT_EQ(first.exit.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("plan: 2 points, 0 reused"));
  EXPECT_THAT(
      session
          .run({"run", "-m", "tiny", "-l", "32", "-b", "1,2", "--max-steps", "3", "--repeats", "1"})
          .err,
      HasSubstr("plan: 2 points, 2 reused"))
      << "the same points under the same keys";
  const Said more = session.run({"run", plan, "--batch", "1", "--repeats", "2"});
  EXPECT_THAT(more.err, HasSubstr("plan: 1 point x 2 repeats, 1 reused")) << "options win";
  EXPECT_THAT(session.run({"plan", plan}).out, HasSubstr("plan: 2 points, 0 to measure, 2 reused"));
}

TEST(PlanFile, SavedPlansMeanTheSame) {
  Session session;
  const std::string plan = (session.folder() / "saved.yaml").string();
  const std::vector<std::string> options{"-m",
                                         "tiny",
                                         "-l",
                                         "64,32",
                                         "-b",
                                         "1..3",
                                         "--learning-rate",
                                         "1e-6..1e-4*10",
                                         "--order",
                                         "random",
                                         "--order-seed",
                                         "9",
                                         "--timeout",
                                         "700",
                                         "--until",
                                         "2%",
                                         "--gradient-checkpointing",
                                         "on,off",
                                         "--where",
                                         "batch_size != 2",
                                         "--where",
                                         "model_max_length > 16 or batch_size = 1"};
  std::vector<std::string> run{"run"};
  run.insert(run.end(), options.begin(), options.end());
  std::vector<std::string> save = run;
  save.insert(save.end(), {"--save-plan", plan});
  const Said saved = session.run(save);
  EXPECT_EQ(saved.exit.code, 0) << saved.err;
  EXPECT_FALSE(std::filesystem::exists(session.store()));
  std::vector<std::string> preview{"plan", "--json"};
  preview.insert(preview.end(), options.begin(), options.end());
  const Json by_options = Json::parse(session.run(preview).out, "options");
  const Json by_file = Json::parse(session.run({"plan", "--json", plan}).out, "file");
  EXPECT_EQ(by_options.at("points").as_array().size(), 24U + 12U) << "excluded ones are told, too";
  EXPECT_EQ(what_points_are(by_options), what_points_are(by_file));
  EXPECT_EQ(by_options.at("repeats"), by_file.at("repeats"));
  const Said again = session.run({"run", plan, "--save-plan", "-"});
  EXPECT_EQ(again.out, read_file(plan)) << "and written again it is the same";
}

TEST(PlanFile, MistakesAreToldAsPromised) {
  Session session;
  session.write("plan.yaml",
                "# a plan\nrepeats: 3\n\n\n\n\n\ninputs:\n    bacth_size: [4, 8]\n"
                "    model_name: tiny\n    model_max_length: 32\n\n\noptimize: token_per_s\n");
  const std::string plan = (session.folder() / "plan.yaml").string();
  const Said said = session.run({"run", plan});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_EQ(said.err, plan +
                          ":9:5: unknown input 'bacth_size'\n"
                          "   9 |     bacth_size: [4, 8]\n"
                          "     |     ^^^^^^^^^^ did you mean 'batch_size'?\n" +
                          plan +
                          ":14:11: unknown metric 'token_per_s' in 'optimize' - did you mean "
                          "'tokens_per_s'?\n"
                          "2 errors. Nothing was run. See: tunebench inputs, tunebench metrics\n");
  EXPECT_FALSE(std::filesystem::exists(session.store()));
  EXPECT_EQ(session.run({"plan", plan}).exit.code, 1);
  EXPECT_THAT(session.run({"run", (session.folder() / "none.yaml").string()}).err,
              HasSubstr("none.yaml"));
}

TEST(AdoFiles, RunUnchanged) {
  Session session;
  session.write("sim.json", kSimulation);
  const std::string simulation = (session.folder() / "sim.json").string();
  const std::vector<std::string> words{"run",
                                       ado("sweep-space.yaml"),
                                       ado("sweep-operation.yaml"),
                                       ado("actuatorconfiguration.yaml"),
                                       "--trainer",
                                       "simulated",
                                       "--simulation",
                                       simulation};
  const Said first = session.run(words);
  EXPECT_EQ(first.exit.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("plan: 12 points, 0 reused"));
  EXPECT_THAT(first.err, HasSubstr("note: maxRetries: "));
  EXPECT_THAT(session.run(words).err, HasSubstr("plan: 12 points, 12 reused"));
}

TEST(AdoFiles, InvalidPointsAreRecordedWithoutAChild) {
  Session session;
  session.write("sim.json", kSimulation);
  std::string space = read_file(ado("sweep-space.yaml"));
  space.replace(space.find("values: [1]}"), 12, "values: [1, 8]}");
  session.write("space.yaml", space);
  const std::vector<std::string> files{(session.folder() / "space.yaml").string(),
                                       ado("sweep-operation.yaml"),
                                       "--trainer",
                                       "simulated",
                                       "--simulation",
                                       (session.folder() / "sim.json").string()};
  std::vector<std::string> plan{"plan"};
  plan.insert(plan.end(), files.begin(), files.end());
  const Said preview = session.run(plan);
  EXPECT_EQ(preview.exit.code, 0) << preview.err;
  EXPECT_THAT(preview.out, HasSubstr("batch_size is 4 but number_gpus is 8; nearest: 8"));
  EXPECT_THAT(preview.out, HasSubstr("plan: 24 points, 24 to measure, 0 reused, 6 invalid"));
  std::vector<std::string> run{"run"};
  run.insert(run.end(), files.begin(), files.end());
  const Said said = session.run(run);
  EXPECT_EQ(said.exit.code, 2) << "some points have no number";
  int invalid = 0;
  const Said exported = session.run({"export", "--format", "json", "--simulated", "@last"});
  const Json rows = Json::parse(exported.out, "export");
  for (const Json& row : rows.as_array()) {
    if (row.at("status") == Json("invalid_config")) {
      ++invalid;
      EXPECT_THAT(row.at("reason").as_string(), HasSubstr("but number_gpus is 8"));
      EXPECT_TRUE(row.at("log_path").is_null() || row.at("log_path").as_string().empty());
    }
  }
  EXPECT_EQ(invalid, 6);
  EXPECT_THAT(session.run(run).err, HasSubstr("plan: 24 points, 24 reused"));
}

TEST(AdoFiles, WhatCannotBeMeasuredIsRefusedByName) {
  Session session;
  std::string text = read_file(ado("lora-space.yaml"));
  const std::string quantised = session.write(
      "quantised.yaml", text.replace(text.find("finetune_lora"), 13, "finetune_gptq-lora"));
  const Said gptq = session.run({"run", quantised, ado("explore-operation.yaml")});
  EXPECT_EQ(gptq.exit.code, 1);
  EXPECT_THAT(gptq.err,
              HasSubstr("finetune_gptq-lora_benchmark-v1.0.0 cannot be run by this version"));
  const Said replay = session.run({"run", ado("history-space.yaml"), ado("history-walk.yaml")});
  EXPECT_THAT(replay.err, HasSubstr("1 error. Nothing was run."));
  const Said store = session.run({"run", ado("imported-store.yaml")});
  EXPECT_THAT(store.err, HasSubstr("importing 'old.csv' is not done by run"));
  EXPECT_FALSE(std::filesystem::exists(session.store()));
}

}  // namespace
}  // namespace tunebench::integration
