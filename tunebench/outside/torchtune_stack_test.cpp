#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Launch launch_of(const experiment::Point& point, const model::ModelSpec& spec = tiny_spec()) {
  const trainer::Job job{.point = point, .planned_steps = 40};
  return find_stack("torchtune")
      ->launch({.job = job,
                .folder = "/run",
                .modules = "/py",
                .python = "/env/bin/python",
                .model_folder = "/m",
                .weight_files = {"a.safetensors", "b.safetensors"},
                .data_file = "/d.jsonl",
                .text_field = "output",
                .rows = 64,
                .spec = &spec});
}

std::string yaml_of(const experiment::Point& point, const model::ModelSpec& spec = tiny_spec()) {
  return launch_of(point, spec).files.at(0).second;
}

std::string refusal_of(const model::ModelSpec& spec) {
  try {
    launch_of(test_point({}), spec);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(TorchtuneStack, APointBecomesItsConfiguration) {
  const experiment::Point point = test_point({{"torch_dtype", "float32"}, {"seed", 7}});
  EXPECT_THAT(launch_of(point).argv,
              ElementsAre("/env/bin/python", "-m", "torchtune._cli.tune", "run",
                          "full_finetune_single_device", "--config", "/run/torchtune.yaml"));
  EXPECT_EQ(yaml_of(point), R"(output_dir: /run/output
model:
  _component_: torchtune.models.llama3_2.llama3_2
  vocab_size: 320
  num_layers: 2
  num_heads: 4
  num_kv_heads: 2
  embed_dim: 64
  max_seq_len: 512
  rope_base: 10000
  intermediate_dim: 160
  norm_eps: 1.0e-05
  scale_factor: 1.0
  tie_word_embeddings: true
tokenizer:
  _component_: tunebench_torchtune.Tokenizer
  path: /m
  max_seq_len: 64
dataset:
  _component_: tunebench_torchtune.Texts
  path: /d.jsonl
  field: output
  rows: 64
  samples: 640
collate_fn: tunebench_torchtune.collate
seed: 7
shuffle: false
checkpointer:
  _component_: tunebench_torchtune.NoSave
  checkpoint_dir: /m
  checkpoint_files:
    - a.safetensors
    - b.safetensors
  recipe_checkpoint: null
  output_dir: /run/output
  model_type: LLAMA3_2
resume_from_checkpoint: false
batch_size: 4
epochs: 1
optimizer:
  _component_: torch.optim.AdamW
  lr: 1.0e-05
  weight_decay: 0.0
lr_scheduler:
  _component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup
  num_warmup_steps: 2
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
max_steps_per_epoch: 40
gradient_accumulation_steps: 4
clip_grad_norm: 1.0
compile: false
device: cpu
dtype: fp32
enable_activation_checkpointing: true
enable_activation_offloading: false
metric_logger:
  _component_: tunebench_torchtune.Steps
log_every_n_steps: 1
log_peak_memory_stats: false
profiler:
  _component_: torchtune.training.setup_torch_profiler
  enabled: false
optimizer_in_bwd: false
)");
}

TEST(TorchtuneStack, LoraIsAnotherRecipe) {
  const experiment::Point point =
      test_point({{"r", 8}, {"max_grad_norm", 0.0}}, "finetune_lora_benchmark-v1.0.0");
  EXPECT_EQ(launch_of(point).argv.at(4), "lora_finetune_single_device");
  EXPECT_THAT(
      yaml_of(point),
      AllOf(HasSubstr("_component_: torchtune.models.llama3_2.lora_llama3_2\n"),
            HasSubstr("  lora_attn_modules:\n    - q_proj\n    - v_proj\n"
                      "  apply_lora_to_mlp: false\n  apply_lora_to_output: false\n"
                      "  lora_rank: 8\n  lora_alpha: 16\n  lora_dropout: 0.05\n"),
            HasSubstr("clip_grad_norm: \"inf\"\n"), HasSubstr("save_adapter_weights_only: true\n"),
            Not(HasSubstr("optimizer_in_bwd"))));
}

TEST(TorchtuneStack, SaysWhatItCannotDo) {
  model::ModelSpec spec = tiny_spec();
  spec.rope_scaling = {.type = model::RopeScaling::Type::Llama3,
                       .factor = 32,
                       .low_freq_factor = 1,
                       .high_freq_factor = 4,
                       .original_max_positions = 8192};
  EXPECT_THAT(refusal_of(spec), IsEmpty());
  EXPECT_THAT(yaml_of(test_point({}), spec), HasSubstr("scale_factor: 32.0\n"));
  spec.rope_scaling.high_freq_factor = 2;
  EXPECT_THAT(refusal_of(spec), HasSubstr("with Llama 3's own numbers only"));
  spec = tiny_spec();
  spec.head_width = 32;
  EXPECT_THAT(refusal_of(spec), HasSubstr("takes the width of a head for width / heads"));
  spec = tiny_spec();
  spec.window = 64;
  EXPECT_THAT(refusal_of(spec), HasSubstr("has a sliding window"));
  spec = tiny_spec();
  spec.tied_head = false;
  EXPECT_THAT(yaml_of(test_point({}), spec),
              AllOf(HasSubstr("tie_word_embeddings: false\n"), HasSubstr("model_type: LLAMA3\n")));
}

}  // namespace
}  // namespace tunebench::outside
