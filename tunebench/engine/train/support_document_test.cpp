// docs/support.md is what the tables in the code say. With TB_UPDATE_DOCS set, the test writes it.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/engine/methods/method.h"
#include "tunebench/engine/train/golden_cases.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {
namespace {

constexpr std::string_view kIntroduction =
    R"(# What the native trainer supports

Made from the tables in the code by `SupportDocument.IsWhatTheTablesSay` of tb_engine_train_tests; with TB_UPDATE_DOCS=1 it is written. A "yes"
is tested: `GoldenTest` compares logits, loss, every gradient and three AdamW steps with PyTorch and transformers to 1e-4 on each recorded model,
`FamiliesTest` lets each learn one batch by heart with every method, compares the recompute rungs bit by bit and the planned memory with the used one, and
loads each stored type; `AdapterTest` compares what PEFT computes for adapters, and that they are saved as PEFT stores them. What is not supported is refused by name before anything is computed, with the reason that stands here.

)";

constexpr std::string_view kMethods =
    R"(
## Methods, weights, types

The same for every family above.

| what | |
|---|---|
| full fine-tuning | yes |
| LoRA | r, alpha, dropout, rank-stabilised; targets by names, all-linear, expression or family; bias none, all, lora_only; modules_to_save. Refused: adapters of head and embedding, rank_pattern, alpha_pattern, layers_to_transform, ways to begin that change the base |
| prompt tuning | virtual tokens that begin as a text, as drawn tokens or as normal numbers |
| DoRA, IA3, LLaMA-Adapter | not yet: refused by name |
| GPTQ-LoRA, QLoRA | not yet: refused by name |
| adapters | PEFT folders are read and written |
| recompute (`gradient_checkpointing`) | yes, four rungs |
| weights in safetensors, sharded or not: F32, F16, BF16 | yes |
| `torch_dtype` float32, bfloat16, float16 | yes: weights are rounded to it when loaded, masters and arithmetic are float32 |
| weights of GPTQ or AWQ, other stored types | refused with the tensor's name |
| `pytorch_model.bin` | refused with the way to convert it |
| GGUF | `tunebench models import`, architecture `llama` only |
| dropout in config.json | refused; write 0 there to train without |
)";

std::string positions_text(const model::ModelSpec& spec) {
  switch (spec.positions) {
    case model::PositionKind::Rope:
      return "RoPE";
    case model::PositionKind::Learned:
      return "learned";
    case model::PositionKind::Alibi:
      return "ALiBi";
    case model::PositionKind::None:
      return "none";
  }
  return "";
}

std::string norm_text(const model::Family& family) {
  std::string text = family.norm == model::NormKind::Layer ? "LayerNorm"
                     : family.norm == model::NormKind::Rms ? "RMS"
                                                           : "RMS, 1 + w";
  text += family.post_norms ? ", before and after" : "";
  text += !family.qk_norm ? "" : family.whole_qk_norm ? ", of all heads together" : ", of heads";
  return text + (family.embedding_norm ? ", of the embedding" : "");
}

std::string feed_forward_text(const model::Family& family) {
  std::string text = family.names.router.empty() ? "" : "experts, ";
  text += family.gated_mlp ? "gated" : "plain";
  return text + (family.names.shared_gate.empty() ? "" : ", a weighed shared one");
}

std::string window_text(const model::Family& family) {
  switch (family.window_rule) {
    case model::WindowRule::None:
      return "";
    case model::WindowRule::All:
      return "all layers";
    case model::WindowRule::FromLayer:
      return "from a layer on";
    case model::WindowRule::EveryOther:
      return "every other layer";
    case model::WindowRule::FiveOfSix:
      return "five of six layers";
  }
  return "";
}

/// The recorded models of each model_type.
std::map<std::string, std::vector<std::string>> recorded_models() {
  std::map<std::string, std::vector<std::string>> models;
  for (const std::string& name : golden_cases(TB_GOLDEN_FOLDER)) {
    const auto folder = std::filesystem::path(TB_GOLDEN_FOLDER) / name;
    models[model::resolve_model(folder.string()).spec.model_type].push_back(name);
  }
  return models;
}

std::string families_table() {
  auto recorded = recorded_models();
  std::string methods_head;
  std::string methods_line;
  std::string methods_cells;
  for (const MethodKind& method : methods()) {
    methods_head += fmt::format("{} | ", method.title);
    methods_line += "---|";
    methods_cells += "yes | ";
  }
  std::string text = fmt::format(
      "## Families\n\n| model_type | architecture | positions | norm | feed-forward | "
      "window | full | {}recorded models |\n|---|---|---|---|---|---|---|{}---|\n",
      methods_head, methods_line);
  for (const model::Family& family : model::families()) {
    model::ModelSpec spec;
    spec.positions = family.positions;
    const std::vector<std::string>& models = recorded[std::string(family.model_type)];
    EXPECT_FALSE(models.empty()) << family.model_type << " has no recorded model";
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | yes | {}{} |\n", family.model_type,
                        family.architecture, positions_text(spec), norm_text(family),
                        feed_forward_text(family), window_text(family), methods_cells,
                        join(models, ", "));
  }
  text +=
      "\nRoPE scalings: linear, dynamic, llama3, yarn, longrope. Activations: silu, gelu, its tanh "
      "approximation.\n\nExperts: only those that a token visits are computed. The loss of "
      "unbalanced experts is part of the loss when config.json says `output_router_logits`, with "
      "`router_aux_loss_coef` as its share (docs/metrics.md). Router and experts are trained in "
      "full fine-tuning only: adapters reach attention and shared experts. Refused: layers without "
      "experts among those with experts, "
      "noise of the router.\n\n`llava_next` (LLaVA-Next, Granite Vision): the text side, a model "
      "of any type above in "
      "`text_config`, is read and trained alone, on text. Tensors that look at images are not "
      "read, "
      "and data sets with images are refused. A Granite divides its logits by `logits_scaling` "
      "there, "
      "too, as it was trained; transformers 5.24 does not.\n\nKnown and refused:\n\n| model_type | "
      "why "
      "|\n|---|---|\n";
  for (const auto& [type, reason] : model::refused_model_types()) {
    text += fmt::format("| `{}` | {} |\n", type, reason);
  }
  return text;
}

std::string names_table() {
  std::string text =
      "\n## Names\n\nA shape without weights: they are drawn from a seed, tokens are bytes.\n\n"
      "| model_name | model_type | parameters | met by a token | longest "
      "|\n|---|---|---|---|---|\n";
  for (const model::Preset& preset : model::presets()) {
    const std::int64_t all = model::parameter_count(preset.spec);
    const std::int64_t active = model::active_parameter_count(preset.spec);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", preset.name, preset.spec.model_type,
                        with_thousands(all), active == all ? "" : with_thousands(active),
                        with_thousands(model::longest_sequence(preset.spec)));
  }
  text +=
      "\nKnown by name and refused, unless the folder is given and its family is supported:\n\n"
      "| model_name | why |\n|---|---|\n";
  for (const model::KnownModel& known : model::known_models()) {
    if (!known.reason.empty()) {
      text += fmt::format("| `{}` | {} |\n", known.name, known.reason);
    }
  }
  return text;
}

TEST(SupportDocument, IsWhatTheTablesSay) {
  const std::filesystem::path file = std::filesystem::path(TB_SOURCE_FOLDER) / "docs/support.md";
  const std::string wanted =
      std::string(kIntroduction) + families_table() + std::string(kMethods) + names_table();
  if (std::getenv("TB_UPDATE_DOCS") != nullptr) {
    write_file_atomically(file, wanted);
    return;
  }
  EXPECT_EQ(read_file(file), wanted) << "TB_UPDATE_DOCS=1 build/release/tb_engine_train_tests "
                                        "--gtest_filter=SupportDocument.* writes it";
}

}  // namespace
}  // namespace tunebench::engine
