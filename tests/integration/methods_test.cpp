// Methods through the program: what is measured, what is planned, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;

std::vector<std::string> lora_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words{"run",
                                 "--experiment",
                                 "finetune_lora_benchmark",
                                 "--model",
                                 "tiny",
                                 "--length",
                                 "32",
                                 "--batch",
                                 "2",
                                 "--repeats",
                                 "1",
                                 "--max-steps",
                                 "12"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Methods, LoraIsMeasuredOverItsRanksAndReused) {
  Session session;
  const Said first = session.run(lora_run({"--r", "2,8"}));
  EXPECT_EQ(first.exit.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("plan: 2 points, 0 reused"));
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U);
  std::vector<std::int64_t> trained;
  for (const Json& row : rows.as_array()) {
    EXPECT_EQ(row.at("experiment"), Json("finetune_lora_benchmark-v1.0.0"));
    EXPECT_EQ(row.at("status"), Json("ok"));
    EXPECT_EQ(row.at("is_valid"), Json(true));
    EXPECT_EQ(row.at("parameters").as_int(), 106816);
    trained.push_back(row.at("trained_parameters").as_int());
    EXPECT_GT(row.at("train_tokens_per_second").as_double(), 0);
    // A frozen base has no gradient and no moments.
    EXPECT_LT(row.at("gradients_bytes").as_int(), row.at("weights_bytes").as_int() / 4);
    EXPECT_LT(row.at("optimizer_bytes").as_int(), row.at("weights_bytes").as_int() / 2);
  }
  // q_proj and v_proj of two layers: r x (in + out) each.
  EXPECT_EQ(trained[1], 4 * trained[0]);
  EXPECT_THAT(session.run(lora_run({"--r", "2,8"})).err, HasSubstr("plan: 2 points, 2 reused"));
}

TEST(Methods, ALoraStepCostsLessArithmeticAndMemoryThanAFullOne) {
  Session session;
  ASSERT_EQ(session.run(lora_run({"--target-modules", "all-linear"})).exit.code, 0);
  std::vector<std::string> full = lora_run();
  full[2] = "finetune_full_benchmark";
  ASSERT_EQ(session.run(full).exit.code, 0);
  Json lora_row;
  Json full_row;
  const Json rows = session.exported();
  for (const Json& row : rows.as_array()) {
    (row.at("experiment") == Json("finetune_full_benchmark-v1.0.0") ? full_row : lora_row) = row;
  }
  EXPECT_LT(lora_row.at("flops_per_token").as_double(),
            0.8 * full_row.at("flops_per_token").as_double());
  EXPECT_LT(lora_row.at("arena_bytes").as_int(), full_row.at("arena_bytes").as_int());
  EXPECT_EQ(full_row.at("trained_parameters"), full_row.at("parameters"));
}

TEST(Methods, PromptTuningIsMeasured) {
  Session session;
  std::vector<std::string> words = lora_run({"--num-virtual-tokens", "4,16"});
  words[2] = "finetune_pt_benchmark";
  const Said said = session.run(words);
  EXPECT_EQ(said.exit.code, 0) << said.err;
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U);
  EXPECT_EQ(rows.as_array()[1].at("trained_parameters").as_int(),
            4 * rows.as_array()[0].at("trained_parameters").as_int());
  EXPECT_GT(rows.as_array()[1].at("flops_per_token").as_double(),
            rows.as_array()[0].at("flops_per_token").as_double());
  // Virtual tokens are no tokens of the data.
  EXPECT_EQ(rows.as_array()[0].at("tokens"), rows.as_array()[1].at("tokens"));
}

TEST(Methods, PlanAndPreviewKnowWhatLoraTakes) {
  Session session;
  const auto needed = [&](const char* experiment) {
    const Said said = session.run({"plan", "--experiment", experiment, "--model", "smollm2-135m",
                                   "--length", "512", "--batch", "1", "--json"});
    EXPECT_EQ(said.exit.code, 0) << said.err;
    return said.out;
  };
  EXPECT_NE(needed("finetune_lora_benchmark"), needed("finetune_full_benchmark"));
}

TEST(Methods, ATargetThatFitsNothingIsRefusedBeforeAnythingRuns) {
  Session session;
  const Said said = session.run(lora_run({"--target-modules", "query_key_value"}));
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("target_modules: 'query_key_value' fits no projection of llama; "
                                  "it has q_proj, k_proj, v_proj, o_proj"));
  EXPECT_FALSE(std::filesystem::exists(session.store()));
}

}  // namespace
}  // namespace tunebench::integration
