#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/trainer_rules.h"
#include "tunebench/outside/embedded.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using testing::Contains;
using testing::ElementsAre;

Launch launch_of(const experiment::Point& point, std::int64_t steps = 40) {
  const trainer::Job job{.point = point, .planned_steps = steps};
  return find_stack("hf")->launch({.job = job,
                                   .folder = "/run",
                                   .modules = "/py",
                                   .python = "/env/bin/python",
                                   .model_folder = "/m",
                                   .data_file = "/d.jsonl",
                                   .text_field = "output",
                                   .rows = 640,
                                   .port = 4711});
}

Json settings_of(const experiment::Point& point, std::int64_t steps = 40) {
  return Json::parse(launch_of(point, steps).files.at(0).second, "settings");
}

TEST(HfStack, APointBecomesSettings) {
  const Json settings = settings_of(test_point({{"batch_size", 4},
                                                {"torch_dtype", "float32"},
                                                {"warmup_ratio", 0.03},
                                                {"optim", "adamw_torch_fused"},
                                                {"seed", 7}}));
  EXPECT_EQ(settings.at("model").as_string(), "/m");
  EXPECT_EQ(settings.at("data").as_string(), "/d.jsonl");
  EXPECT_EQ(settings.at("rows").as_int(), 640);
  EXPECT_EQ(settings.at("length").as_int(), 64);
  EXPECT_EQ(settings.at("per_device_batch_size").as_int(), 4);
  EXPECT_EQ(settings.at("max_steps").as_int(), 40);
  EXPECT_EQ(settings.at("warmup_steps").as_int(), 2) << "1.2 steps, rounded up";
  EXPECT_EQ(settings.at("optim").as_string(), "adamw_torch_fused");
  EXPECT_EQ(settings.at("torch_dtype").as_string(), "float32");
  EXPECT_EQ(settings.at("attention").as_string(), "sdpa");
  EXPECT_EQ(settings.at("method").as_string(), "full");
  EXPECT_EQ(settings.at("seed").as_int(), 7);
  EXPECT_TRUE(settings.at("use_cpu").as_bool());
  EXPECT_EQ(settings_of(test_point({{"flash_attn", false}})).at("attention").as_string(), "eager");
}

TEST(HfStack, LoraAdaptsTheModulesOfTheTable) {
  const char* lora = "finetune_lora_benchmark-v1.0.0";
  const Json settings =
      settings_of(test_point({{"model_name", "llama-7b"}, {"r", 8}, {"lora_alpha", 32}}, lora));
  EXPECT_EQ(settings.at("method").as_string(), "lora");
  EXPECT_EQ(settings.at("lora"), Json::parse(R"({"r": 8, "alpha": 32, "dropout": 0.05,
                            "target_modules": ["q_proj", "k_proj"]})",
                                             "expected"));
  EXPECT_EQ(settings_of(test_point({}, lora)).at("lora").at("target_modules"),
            Json(Json::Array{"q_proj", "v_proj"}));
}

TEST(HfStack, SeveralGpusAreSeveralProcesses) {
  const experiment::Point point =
      test_point({{"number_gpus", 4}, {"batch_size", 8}, {"distributed_backend", "DDP"}});
  EXPECT_THAT(launch_of(point).argv,
              ElementsAre("/env/bin/python", "-m", "torch.distributed.run", "--nproc_per_node", "4",
                          "--master_addr", "127.0.0.1", "--master_port", "4711",
                          "/py/tunebench_hf_train.py", "/run/settings.json"));
  const Json settings = settings_of(point);
  EXPECT_EQ(settings.at("per_device_batch_size").as_int(), 2);
  EXPECT_FALSE(settings.at("use_cpu").as_bool());
  EXPECT_EQ(settings.at("backend").as_string(), "DDP");
  const trainer::Expected expected = find_stack("hf")->expected(point);
  EXPECT_EQ(expected.ranks, 4);
  EXPECT_EQ(expected.device, "cuda");
  EXPECT_THAT(launch_of(test_point({})).argv,
              ElementsAre("/env/bin/python", "/py/tunebench_hf_train.py", "/run/settings.json"));
}

TEST(Stacks, AreTheTrainersWithAnEnvironment) {
  for (const std::unique_ptr<Stack>& stack : stacks()) {
    ASSERT_NE(stack->environment(), nullptr);
    EXPECT_EQ(stack->environment()->trainer, stack->name());
    EXPECT_NE(experiment::find_trainer_rules(stack->name()), nullptr);
    EXPECT_EQ(find_stack(stack->name()), stack.get());
    EXPECT_THAT(stack->version(), testing::StartsWith(stack->environment()->version + "+"));
  }
  for (const experiment::TrainerRules& rules : experiment::trainer_rules()) {
    const bool inside = rules.name == "native" || rules.name == "simulated";
    EXPECT_EQ(find_stack(rules.name) == nullptr, inside || rules.name == "command") << rules.name;
  }
}

TEST(Stacks, HaveLocksWithExactVersionsAndHashes) {
  for (const EnvironmentSpec& spec : environment_specs()) {
    const auto packages = spec.packages();
    EXPECT_GT(packages.size(), 30U);
    std::size_t hashes = 0;
    for (std::size_t at = 0; (at = spec.lock.find("--hash=sha256:", at)) != std::string::npos;
         ++at) {
      ++hashes;
    }
    EXPECT_GE(hashes, packages.size()) << spec.name();
    EXPECT_THAT(packages, Contains(testing::Pair(
                              spec.trainer == "hf" ? "transformers" : spec.trainer, spec.version)));
  }
}

}  // namespace
}  // namespace tunebench::outside
