#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/model/model_source.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Launch launch_of(const experiment::Point& point, const model::ModelSpec& spec = tiny_spec(),
                 std::int64_t steps = 40) {
  const trainer::Job job{.point = point, .planned_steps = steps};
  return find_stack("litgpt")->launch({.job = job,
                                       .folder = "/run",
                                       .modules = "/py",
                                       .python = "/env/bin/python",
                                       .model_folder = "/m",
                                       .shared = "/shared",
                                       .data_file = "/d.jsonl",
                                       .text_field = "output",
                                       .rows = 64,
                                       .spec = &spec});
}

std::string refusal_of(const experiment::Point& point, const model::ModelSpec& spec,
                       std::int64_t steps = 40) {
  try {
    launch_of(point, spec, steps);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(LitGptStack, APointBecomesItsConfiguration) {
  const Launch launch = launch_of(test_point({{"torch_dtype", "float32"}, {"seed", 7}}));
  EXPECT_THAT(launch.argv,
              ElementsAre("/env/bin/python", "/py/tunebench_litgpt.py", "/m", "/shared/litgpt",
                          "--", "finetune_full", "--config", "/run/litgpt.yaml"));
  EXPECT_EQ(launch.files.at(0).second, R"(checkpoint_dir: /shared/litgpt
out_dir: /run/output
precision: "32-true"
devices: 1
num_nodes: 1
data:
  class_path: tunebench_litgpt_data.Texts
  init_args:
    tokenizer: /shared/litgpt
    path: /d.jsonl
    field: output
    rows: 64
    samples: 640
train:
  save_interval: 1000000000
  log_interval: 1
  global_batch_size: 16
  micro_batch_size: 4
  lr_warmup_steps: 2
  epochs: 1
  max_steps: 40
  max_seq_length: 64
eval:
  interval: 1000000000
  max_new_tokens: 1
  max_iters: 1
  initial_validation: false
  final_validation: false
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 1.0e-05
    weight_decay: 0.0
logger_name: csv
seed: 7
)");
}

TEST(LitGptStack, AShapeBecomesItsModelConfiguration) {
  const Launch launch = launch_of(test_point({}));
  EXPECT_EQ(launch.files.at(1).first, "/shared/litgpt/model_config.yaml");
  EXPECT_EQ(launch.files.at(1).second, R"(name: tunebench
block_size: 512
n_layer: 2
n_embd: 64
vocab_size: 320
padded_vocab_size: 320
n_head: 4
n_query_groups: 2
head_size: 16
rotary_percentage: 1.0
parallel_residual: false
bias: false
norm_class_name: RMSNorm
norm_eps: 1.0e-05
mlp_class_name: LLaMAMLP
intermediate_size: 160
rope_base: 10000
)");
  model::ModelSpec scaled = tiny_spec();
  scaled.rope_scaling = {.type = model::RopeScaling::Type::Llama3,
                         .factor = 8,
                         .low_freq_factor = 1,
                         .high_freq_factor = 4,
                         .original_max_positions = 8192};
  EXPECT_THAT(launch_of(test_point({}), scaled).files.at(1).second,
              HasSubstr("rope_adjustments:\n  factor: 8.0\n  low_freq_factor: 1.0\n"
                        "  high_freq_factor: 4.0\n  original_max_seq_len: 8192\n"));
}

TEST(LitGptStack, MethodsAreItsCommands) {
  const Launch lora = launch_of(test_point({{"r", 8}}, "finetune_lora_benchmark-v1.0.0"));
  EXPECT_EQ(lora.argv.at(5), "finetune_lora");
  EXPECT_THAT(lora.files.at(0).second,
              HasSubstr("lora_r: 8\nlora_alpha: 16\nlora_dropout: 0.05\nlora_query: true\n"
                        "lora_key: false\nlora_value: true\nlora_projection: false\n"
                        "lora_mlp: false\n"));
  const char* second = "finetune_adapter-v2_benchmark-v1.0.0";
  EXPECT_EQ(launch_of(test_point({}, second)).argv.at(5), "finetune_adapter_v2");
  EXPECT_THAT(launch_of(test_point({}, second)).files.at(0).second, Not(HasSubstr("lora_")));
}

TEST(LitGptStack, SaysWhatItCannotDo) {
  model::ModelSpec spec = tiny_spec();
  const char* adapter = "finetune_adapter_benchmark-v1.0.0";
  EXPECT_THAT(refusal_of(test_point({}, adapter), spec),
              HasSubstr("puts adapters from the third layer on, and this model has 2"));
  EXPECT_THAT(refusal_of(test_point({}), spec, 1), HasSubstr("cannot do 1 step: all of them are"));
  spec.layers = 4;
  EXPECT_THAT(refusal_of(test_point({}, adapter), spec), IsEmpty());
  spec.qkv_bias = true;
  EXPECT_THAT(refusal_of(test_point({}), spec), HasSubstr("and this one has biases"));
  spec = tiny_spec();
  spec.model_type = "gemma2";
  EXPECT_THAT(refusal_of(test_point({}), spec), HasSubstr("is of type gemma2"));
  spec = tiny_spec();
  spec.rope_scaling.type = model::RopeScaling::Type::Yarn;
  EXPECT_THAT(refusal_of(test_point({}), spec), HasSubstr("in another way than Llama 3"));
}

TEST(LitGptStack, NamesWhatIsNotLikeForLike) {
  const Stack& stack = *find_stack("litgpt");
  const model::ModelSpec spec = tiny_spec();
  EXPECT_THAT(stack.differences(test_point({}), &spec),
              ElementsAre(HasSubstr("its head is not tied to the embeddings (0.0 M more"),
                          HasSubstr("not checkpointed"), HasSubstr("not clipped")));
  EXPECT_THAT(stack.differences(
                  test_point({{"gradient_checkpointing", false}, {"max_grad_norm", 0.0}}), nullptr),
              IsEmpty());
}

}  // namespace
}  // namespace tunebench::outside
