// Command lines and accelerate configurations as the reference system's actuator makes them; the
// texts were recorded from its own functions.
#include "tunebench/outside/fms_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/text.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using Inputs = std::vector<std::pair<std::string, Json>>;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const FmsPaths kPaths{
    .model = "/hf-models-pvc/LLaMa/models/hf/7B",
    .data = "/data/fms-hf-tuning/artificial-dataset/news-tokens-16384plus-entries-4096.jsonl",
    .output = "output/task",
    .work_folder = "/wd",
    .entity = "entity"};

/// Base entity E of the reference's vectors.
experiment::Point entity(Inputs changes = {}, const char* id = "finetune_full_benchmark-v1.0.0") {
  Inputs inputs{{"model_name", "llama-7b"},
                {"number_gpus", 4},
                {"model_max_length", 512},
                {"batch_size", 4},
                {"gpu_model", "NVIDIA-A100-80GB-PCIe"}};
  inputs.insert(inputs.end(), changes.begin(), changes.end());
  return test_point(inputs, id);
}

std::string line_of(const experiment::Point& point, const FmsPaths& paths = kPaths) {
  return join(flag_words(reference_flags(point, paths)), " ");
}

const std::string kBegin =
    "--log_level info --eval_strategy no --save_strategy no --learning_rate 1e-05 --weight_decay "
    "0.0 --warmup_ratio 0.03 --lr_scheduler_type cosine --logging_steps 1 "
    "--include_tokens_per_second True --packing False --aim_db /wd/ephemeral_aim --aim_experiment "
    "entity --fms_hf_tuning_version 2.1.2 --gradient_accumulation_steps 4 "
    "--gradient_checkpointing True --max_steps -1 --num_train_epochs 1.0 --stop_after_seconds "
    "-1.0 ";
const std::string kFiles =
    "--model_name_or_path /hf-models-pvc/LLaMa/models/hf/7B --per_device_train_batch_size 1 "
    "--torch_dtype bfloat16 --max_seq_length 512 --training_data_path "
    "/data/fms-hf-tuning/artificial-dataset/news-tokens-16384plus-entries-4096.jsonl --output_dir "
    "output/task ";
const std::string kRank = "--use_flash_attn True --r 4 --lora_alpha 16 ";
const std::string kEnd =
    "--optim adamw_torch --bf16 False --dataset_text_field output --remove_unused_columns True "
    "--response_template \n### Response: --dataset_kwargs {\"skip_prepare_dataset\": false} "
    "--gradient_checkpointing_kwargs {\"use_reentrant\": false}";

TEST(ReferenceFlags, OfTheFullBenchmark) {
  // The model's own modules are those of LoRA only; else the actuator's default stands.
  EXPECT_EQ(line_of(entity()), kBegin + kFiles + kRank +
                                   "--target_modules q_proj v_proj --lora_dropout 0.05 " + kEnd +
                                   " --peft_method none");
}

TEST(ReferenceFlags, OfTheStabilityExperiment) {
  std::string begin = kBegin;
  begin.replace(begin.find("--max_steps -1"), 14, "--max_steps 5");
  EXPECT_EQ(line_of(entity({}, "finetune_full_stability-v1.0.0")),
            begin + kFiles + kRank + "--target_modules q_proj v_proj --lora_dropout 0.05 " + kEnd +
                " --peft_method none");
}

TEST(ReferenceFlags, OfLora) {
  EXPECT_EQ(line_of(entity({}, "finetune_lora_benchmark-v1.0.0")),
            kBegin + "--peft_method lora " + kFiles + kRank +
                "--target_modules q_proj k_proj --lora_dropout 0.05 " + kEnd);
}

TEST(ReferenceFlags, OfPromptTuning) {
  EXPECT_EQ(line_of(entity({}, "finetune_pt_benchmark-v1.0.0")),
            kBegin + "--peft_method pt " + kFiles + kRank +
                "--target_modules q_proj v_proj --lora_dropout 0.05 " + kEnd);
}

TEST(ReferenceFlags, OfQuantisedLora) {
  FmsPaths paths = kPaths;
  paths.model += "-gptq";
  std::string files = kFiles;
  files.replace(files.find("hf/7B "), 6, "hf/7B-gptq ");
  files.replace(files.find("bfloat16"), 8, "float16");
  EXPECT_EQ(line_of(entity({}, "finetune_gptq-lora_benchmark-v1.0.0"), paths),
            kBegin + "--peft_method lora " + files + "--fp16 yes " + kRank +
                "--target_modules q_proj k_proj --lora_dropout 0.05 --fast_kernels True True True "
                "--fused_lora auto_gptq True --auto_gptq triton_v2 " +
                kEnd);
}

TEST(ReferenceFlags, OfExpertsVisionAndAutoStop) {
  EXPECT_THAT(line_of(entity({{"fast_moe", 2}, {"fms_hf_tuning_version", "2.4.0"}})),
              HasSubstr("--lora_dropout 0.05 --fast_moe 2 --optim"));
  FmsPaths vision = kPaths;
  vision.data = "/data/vision-384x384-16384plus-entries-4096.parquet";
  const std::string line = line_of(entity({{"dataset_image_field", "images"}}), vision);
  EXPECT_THAT(line, HasSubstr("--dataset_text_field output --dataset_image_field images"));
  EXPECT_THAT(line, Not(HasSubstr("response_template")));
  EXPECT_THAT(line_of(entity({{"auto_stop_method", "WARMUP_60S_STABLE_120S_OR_10_STEPS"}})),
              HasSubstr("--stop_after_seconds -1.0 --auto_stop_method "
                        "WARMUP_60S_STABLE_120S_OR_10_STEPS --model_name_or_path"));
}

TEST(ReferenceFlags, BatchIsThatOfOneDevice) {
  struct Row {
    Inputs changes;
    const char* batch;
    std::int64_t processes;
  };
  for (const Row& row : {Row{{}, "1", 4}, Row{{{"number_gpus", 1}, {"batch_size", 1}}, "1", 1},
                         Row{{{"number_gpus", 0}, {"batch_size", 3}}, "3", 1},
                         Row{{{"number_gpus", 8}, {"batch_size", 16}}, "2", 8},
                         Row{{{"distributed_backend", "None"}}, "1", 1},
                         Row{{{"distributed_backend", "DDP"}}, "1", 4}}) {
    const experiment::Point point = entity(row.changes);
    EXPECT_THAT(line_of(point),
                HasSubstr(std::string("--per_device_train_batch_size ") + row.batch + " "));
    EXPECT_EQ(processes_of(point), row.processes);
  }
}

TEST(AccelerateConfig, OfFsdpAndOfSeveralGpus) {
  const Json fsdp = Json::parse(accelerate_config(entity(), 4, 29500), "config");
  EXPECT_EQ(fsdp, Json::parse(R"({"compute_environment": "LOCAL_MACHINE", "debug": false,
    "downcast_bf16": "no", "distributed_type": "FSDP", "machine_rank": 0,
    "main_training_function": "main", "mixed_precision": "no", "num_machines": 1,
    "rdzv_backend": "static", "same_network": true, "tpu_env": [], "tpu_use_cluster": false,
    "tpu_use_sudo": false, "use_cpu": false, "main_process_port": 29500, "num_processes": 4,
    "fsdp_config": {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
      "fsdp_backward_prefetch": "BACKWARD_PRE", "fsdp_forward_prefetch": false,
      "fsdp_offload_params": false, "fsdp_sharding_strategy": "FULL_SHARD",
      "fsdp_state_dict_type": "FULL_STATE_DICT", "fsdp_cpu_ram_efficient_loading": true,
      "fsdp_sync_module_states": true, "fsdp_use_orig_params": true}})",
                              "expected"));
  const Json ddp = Json::parse(
      accelerate_config(
          entity({{"distributed_backend", "DDP"}, {"accelerate_config_mixed_precision", "bf16"}}),
          4, 29500),
      "config");
  EXPECT_EQ(ddp.at("distributed_type"), Json("MULTI_GPU"));
  EXPECT_EQ(ddp.at("mixed_precision"), Json("bf16"));
  EXPECT_EQ(ddp.find("fsdp_config"), nullptr);
  const Json wrapped = Json::parse(
      accelerate_config(
          entity({{"accelerate_config_fsdp_transformer_layer_cls_to_wrap", "LlamaDecoderLayer"},
                  {"fsdp_sharding_strategy", "SHARD_GRAD_OP"}}),
          4, 29500),
      "config");
  EXPECT_EQ(wrapped.at("fsdp_config").at("fsdp_transformer_layer_cls_to_wrap"),
            Json("LlamaDecoderLayer"));
  EXPECT_EQ(wrapped.at("fsdp_config").at("fsdp_sharding_strategy"), Json("SHARD_GRAD_OP"));
}

TEST(FmsFlags, LeaveOutWhatTheWrapperKeepsAndWhatWouldBeDroppedSilently) {
  const std::vector<std::string> words = flag_words(fms_flags(entity(), kPaths, 12));
  for (const char* gone :
       {"--aim_db", "--aim_experiment", "--fms_hf_tuning_version", "--stop_after_seconds",
        "--auto_stop_method", "--dataset_kwargs", "--fast_moe", "--use_cpu"}) {
    EXPECT_THAT(words, Not(Contains(gone)));
  }
  EXPECT_THAT(join(words, " "), HasSubstr("--max_steps 12 "));
  EXPECT_THAT(join(words, " "), HasSubstr("--logging_strategy steps"));
  EXPECT_THAT(join(words, " "), HasSubstr("--use_flash_attn True"));
}

TEST(FmsFlags, OnACpuThereIsNoFlashAttention) {
  const std::string line =
      join(flag_words(fms_flags(entity({{"number_gpus", 0}, {"batch_size", 1}}), kPaths, 3)), " ");
  EXPECT_THAT(line, HasSubstr("--use_flash_attn False"));
  EXPECT_THAT(line, HasSubstr("--use_cpu True"));
}

TEST(FmsHfTuning, IsStartedByAccelerateOnlyForSeveralProcesses) {
  const trainer::Job several{.point = entity(), .planned_steps = 3};
  LaunchContext context{.job = several,
                        .folder = "/run",
                        .python = "/env/bin/python",
                        .model_folder = "/m",
                        .data_file = "/d.jsonl",
                        .port = 4711};
  const Launch launched = find_stack("fms-hf-tuning")->launch(context);
  EXPECT_THAT(std::vector<std::string>(launched.argv.begin(), launched.argv.begin() + 9),
              ElementsAre("/env/bin/python", "-m", "accelerate.commands.launch", "--config_file",
                          "/run/accelerate_config.yaml", "--num_processes", "4", "--module",
                          "tuning.sft_trainer"));
  ASSERT_EQ(launched.files.size(), 1U);
  EXPECT_THAT(launched.files[0].second, HasSubstr("\"main_process_port\": 4711"));
  const trainer::Job one{.point = entity({{"number_gpus", 1}, {"batch_size", 1}}),
                         .planned_steps = 3};
  const Launch single = find_stack("fms-hf-tuning")
                            ->launch({.job = one,
                                      .folder = "/run",
                                      .python = "/env/bin/python",
                                      .model_folder = "/m",
                                      .data_file = "/d.jsonl"});
  EXPECT_THAT(std::vector<std::string>(single.argv.begin(), single.argv.begin() + 3),
              ElementsAre("/env/bin/python", "-m", "tuning.sft_trainer"));
  EXPECT_TRUE(single.files.empty());
}

TEST(PythonText, IsWhatPythonsStrWrites) {
  for (const auto& [value, text] :
       std::vector<std::pair<Json, std::string>>{{1e-5, "1e-05"},
                                                 {0.0, "0.0"},
                                                 {-1.0, "-1.0"},
                                                 {0.03, "0.03"},
                                                 {1e-4, "0.0001"},
                                                 {1e16, "1e+16"},
                                                 {1e15, "1000000000000000.0"},
                                                 {1.5e-7, "1.5e-07"},
                                                 {123456.75, "123456.75"},
                                                 {true, "True"},
                                                 {7, "7"},
                                                 {"a b", "a b"}}) {
    EXPECT_EQ(python_text(value), text);
  }
}

}  // namespace
}  // namespace tunebench::outside
