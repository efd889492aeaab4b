// The names of the reference system's model map and the shapes that stand behind them.
#include "tunebench/model/reference_models.h"

#include <string>
#include <utility>
#include <vector>

#include "tunebench/model/model_family.h"

namespace tunebench::model {
namespace {

struct Sizes {
  std::int64_t vocabulary;
  std::int64_t width;
  std::int64_t layers;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t feed_forward;
  std::int64_t max_positions;
};

/// The shape of a family with these sizes; heads are width / heads wide.
ModelSpec shape_of(std::string_view model_type, const Sizes& sizes, double rope_theta = 10000.0) {
  const Family& family = *find_family(model_type);
  ModelSpec spec;
  spec.model_type = std::string(model_type);
  spec.vocabulary = sizes.vocabulary;
  spec.width = sizes.width;
  spec.layers = sizes.layers;
  spec.heads = sizes.heads;
  spec.kv_heads = sizes.kv_heads;
  spec.head_width = sizes.width / sizes.heads;
  spec.feed_forward = sizes.feed_forward;
  spec.max_positions = sizes.max_positions;
  spec.norm = family.norm;
  spec.positions = family.positions;
  spec.activation = family.activation;
  spec.gated_mlp = family.gated_mlp;
  spec.qkv_bias = family.biases == Biases::All;
  spec.output_bias = spec.qkv_bias;
  spec.mlp_bias = spec.qkv_bias;
  spec.tied_head = family.tied_head;
  spec.rope_theta = rope_theta;
  spec.stored_dtype = "bfloat16";
  return spec;
}

ModelSpec llama3(const Sizes& sizes, double stretched_by = 0.0) {
  ModelSpec spec = shape_of("llama", sizes, 500000.0);
  if (stretched_by > 0.0) {
    spec.rope_scaling = {.type = RopeScaling::Type::Llama3,
                         .factor = stretched_by,
                         .low_freq_factor = 1.0,
                         .high_freq_factor = 4.0,
                         .original_max_positions = 8192};
  }
  return spec;
}

ModelSpec tied(ModelSpec spec) {
  spec.tied_head = true;
  return spec;
}

/// Llama with biases everywhere and a tied head.
ModelSpec granite_code(const Sizes& sizes, double rope_theta) {
  ModelSpec spec = shape_of("llama", sizes, rope_theta);
  spec.tied_head = true;
  spec.qkv_bias = true;
  spec.output_bias = true;
  spec.mlp_bias = true;
  return spec;
}

struct Multipliers {
  double residual;
  double logits;
};

ModelSpec granite(std::string_view model_type, const Sizes& sizes, double rope_theta,
                  const Multipliers& multipliers) {
  ModelSpec spec = shape_of(model_type, sizes, rope_theta);
  spec.tied_head = true;
  spec.embedding_scale = 12.0;
  spec.residual_scale = multipliers.residual;
  spec.logit_divisor = multipliers.logits;
  spec.attention_scale = 1.0 / static_cast<double>(spec.head_width);
  return spec;
}

/// A Granite with so many experts; those of both published sizes choose eight.
ModelSpec granite_moe(const Sizes& sizes, double rope_theta, std::int64_t experts) {
  ModelSpec spec = granite("granitemoe", sizes, rope_theta, {.residual = 0.22, .logits = 6.0});
  spec.norm_epsilon = 1e-6;
  spec.experts = {.count = experts, .chosen = 8};
  return spec;
}

ModelSpec mixtral(const Sizes& sizes) {
  ModelSpec spec = shape_of("mixtral", sizes, 1000000.0);
  spec.experts = {.count = 8, .chosen = 2};
  return spec;
}

ModelSpec gpt_bigcode(const Sizes& sizes) {
  ModelSpec spec = shape_of("gpt_bigcode", sizes);
  spec.activation = Activation::Gelu;
  return spec;
}

ModelSpec mistral_7b() {
  ModelSpec spec = shape_of("mistral", {32000, 4096, 32, 32, 8, 14336, 32768});
  spec.window = 4096;
  return spec;
}

constexpr Multipliers kGranite8b{.residual = 0.22, .logits = 16.0};
constexpr Multipliers kGranite2b{.residual = 0.22, .logits = 8.0};
constexpr Sizes kLlama7b{32000, 4096, 32, 32, 32, 11008, 2048};
constexpr Sizes kLlama3Of8b{128256, 4096, 32, 32, 8, 14336, 8192};
constexpr Sizes kLlama3Of70b{128256, 8192, 80, 64, 8, 28672, 8192};

Sizes longer(Sizes sizes, std::int64_t max_positions) {
  sizes.max_positions = max_positions;
  return sizes;
}

std::vector<Preset> make_reference_models() {
  constexpr std::int64_t k128 = 131072;
  std::vector<Preset> list;
  const auto add = [&](const char* name, ModelSpec spec) {
    spec.name = name;
    list.push_back({name, "", std::move(spec)});
  };
  add("granite-13b-v2", gpt_bigcode({50304, 5632, 40, 44, 1, 22528, 8192}));
  add("granite-20b-v2", gpt_bigcode({49152, 6144, 52, 48, 1, 24576, 8192}));
  add("granite-3-8b",
      granite("granite", {49155, 4096, 40, 32, 8, 12800, 4096}, 10000.0, kGranite8b));
  add("granite-3.0-1b-a400m-base", granite_moe({49152, 1024, 24, 16, 8, 512, 4096}, 10000.0, 32));
  add("granite-3.1-2b",
      granite("granite", {49155, 2048, 40, 32, 8, 8192, k128}, 5000000.0, kGranite2b));
  add("granite-3.1-3b-a800m-instruct",
      granite_moe({49155, 1536, 32, 24, 8, 512, k128}, 10000000.0, 40));
  add("granite-3.1-8b-instruct",
      granite("granite", {49155, 4096, 40, 32, 8, 12800, k128}, 10000000.0, kGranite8b));
  add("granite-3.3-8b",
      granite("granite", {49152, 4096, 40, 32, 8, 12800, k128}, 10000000.0, kGranite8b));
  add("granite-34b-code-base", gpt_bigcode({49152, 6144, 88, 48, 1, 24576, 8192}));
  add("granite-3b-code-base-128k",
      granite_code({49152, 2560, 32, 32, 32, 10240, 128000}, 10000000.0));
  add("granite-4.0-1b", granite("granitemoehybrid", {100352, 2048, 40, 16, 4, 4096, k128},
                                10000000.0, {.residual = 0.22, .logits = 8.0}));
  add("granite-4.0-350m", granite("granitemoehybrid", {100352, 1024, 28, 16, 4, 2048, 32768},
                                  10000000.0, {.residual = 0.246, .logits = 4.0}));
  add("granite-4.0-micro", granite("granitemoehybrid", {100352, 2560, 40, 40, 8, 8192, k128},
                                   10000000.0, {.residual = 0.22, .logits = 10.0}));
  add("granite-7b-base", shape_of("llama", kLlama7b));
  add("granite-8b-code-base", granite_code({49152, 4096, 36, 32, 8, 14336, 4096}, 10000.0));
  add("granite-8b-code-base-128k",
      granite_code({49152, 4096, 36, 32, 8, 14336, 128000}, 10000000.0));
  add("granite-8b-code-instruct", granite_code({49152, 4096, 36, 32, 8, 14336, 4096}, 10000.0));
  add("llama-13b", shape_of("llama", {32000, 5120, 40, 40, 40, 13824, 2048}));
  add("llama-7b", shape_of("llama", kLlama7b));
  add("llama2-70b", shape_of("llama", {32000, 8192, 80, 64, 8, 28672, 4096}));
  add("llama3-70b", llama3(kLlama3Of70b));
  add("llama3-8b", llama3(kLlama3Of8b));
  // As first published: later files hold each key head once, which makes 405,853,388,800.
  add("llama3.1-405b", llama3({128256, 16384, 126, 128, 16, 53248, k128}, 8.0));
  add("llama3.1-70b", llama3(longer(kLlama3Of70b, k128), 8.0));
  add("llama3.1-8b", llama3(longer(kLlama3Of8b, k128), 8.0));
  add("llama3.2-1b", tied(llama3({128256, 2048, 16, 32, 8, 8192, k128}, 32.0)));
  add("llama3.2-3b", tied(llama3({128256, 3072, 28, 24, 8, 8192, k128}, 32.0)));
  add("mistral-123b-v2", shape_of("mistral", {32768, 12288, 88, 96, 8, 28672, k128}, 1000000.0));
  add("mistral-7b-v0.1", mistral_7b());
  add("mixtral-8x7b-instruct-v0.1", mixtral({32000, 4096, 32, 32, 8, 14336, 32768}));
  return list;
}

std::vector<KnownModel> make_known_models() {
  const std::string mamba(kNoStateSpace);
  const std::string vision(kNoVision);
  const std::string unpublished = "its shape is not published";
  // An empty source: a folder of one cluster, or not public.
  return {
      {"allam-1-13b", "", unpublished},
      {"granite-13b-v2", "", ""},
      {"granite-20b-v2", "", ""},
      {"granite-3-8b", "ibm-granite/granite-3.0-8b-base", ""},
      {"granite-3.0-1b-a400m-base", "ibm-granite/granite-3.0-1b-a400m-base", ""},
      {"granite-3.1-2b", "ibm-granite/granite-3.1-2b-base", ""},
      {"granite-3.1-3b-a800m-instruct", "ibm-granite/granite-3.1-3b-a800m-instruct", ""},
      {"granite-3.1-8b-instruct", "ibm-granite/granite-3.1-8b-instruct", ""},
      {"granite-3.3-8b", "ibm-granite/granite-3.3-8b-base", ""},
      {"granite-34b-code-base", "", ""},
      {"granite-3b-1.5", "", unpublished},
      {"granite-3b-code-base-128k", "ibm-granite/granite-3b-code-base-128k", ""},
      {"granite-4.0-1b", "ibm-granite/granite-4.0-1b", ""},
      {"granite-4.0-350m", "ibm-granite/granite-4.0-350m", ""},
      {"granite-4.0-h-1b", "ibm-granite/granite-4.0-h-1b", mamba},
      {"granite-4.0-h-micro", "ibm-granite/granite-4.0-h-micro", mamba},
      {"granite-4.0-h-small", "ibm-granite/granite-4.0-h-small", mamba},
      {"granite-4.0-h-tiny", "ibm-granite/granite-4.0-h-tiny", mamba},
      {"granite-4.0-micro", "ibm-granite/granite-4.0-micro", ""},
      {"granite-7b-base", "ibm-granite/granite-7b-base", ""},
      {"granite-8b-code-base", "", ""},
      {"granite-8b-code-base-128k", "ibm-granite/granite-8b-code-base-128k", ""},
      {"granite-8b-code-instruct", "", ""},
      {"granite-8b-japanese", "", unpublished},
      {"granite-vision-3.2-2b", "ibm-granite/granite-vision-3.2-2b", vision},
      {"hf-tiny-model-private/tiny-random-BloomForCausalLM", "", unpublished},
      {"llama-13b", "", ""},
      {"llama-7b", "", ""},
      {"llama2-70b", "", ""},
      {"llama3-70b", "", ""},
      {"llama3-8b", "", ""},
      {"llama3.1-405b", "", ""},
      {"llama3.1-70b", "", ""},
      {"llama3.1-8b", "", ""},
      {"llama3.2-1b", "meta-llama/Llama-3.2-1B", ""},
      {"llama3.2-3b", "meta-llama/Llama-3.2-3B", ""},
      {"llava-v1.6-mistral-7b", "llava-hf/llava-v1.6-mistral-7b-hf", vision},
      {"mistral-123b-v2", "", ""},
      {"mistral-7b-v0.1", "", ""},
      {"mixtral-8x7b-instruct-v0.1", "", ""},
      {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M", ""},
  };
}

}  // namespace

std::vector<Preset> reference_models() {
  std::vector<Preset> list = make_reference_models();
  for (Preset& preset : list) {
    for (const KnownModel& known : known_models()) {
      if (known.name == preset.name) {
        preset.description = "the shape of " + (known.source.empty() ? known.name : known.source) +
                             ", random weights";
      }
    }
  }
  return list;
}

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> list = make_known_models();
  return list;
}

}  // namespace tunebench::model
