#include <string>
#include <vector>

#include "tunebench/model/model_source.h"

namespace tunebench::model {
namespace {

// Presets are trained with the byte tokenizer: 0 pad, 1 bos, 2 eos.
ModelSpec with_byte_tokens(ModelSpec spec) {
  spec.pad_token = 0;
  spec.bos_token = 1;
  spec.eos_tokens = {2};
  return spec;
}

/// Shape: config.json of HuggingFaceTB/SmolLM2-135M.
ModelSpec smollm2_135m() {
  ModelSpec spec;
  spec.name = "smollm2-135m";
  spec.model_type = "llama";
  spec.vocabulary = 49152;
  spec.width = 576;
  spec.layers = 30;
  spec.heads = 9;
  spec.kv_heads = 3;
  spec.head_width = 64;
  spec.feed_forward = 1536;
  spec.max_positions = 8192;
  spec.norm_epsilon = 1e-5;
  spec.rope_theta = 100000.0;
  spec.tied_head = true;
  spec.initializer_range = 1.0 / 24.0;
  spec.stored_dtype = "bfloat16";
  return with_byte_tokens(spec);
}

ModelSpec tiny() {
  ModelSpec spec;
  spec.name = "tiny";
  spec.model_type = "llama";
  spec.vocabulary = 320;
  spec.width = 64;
  spec.layers = 2;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 16;
  spec.feed_forward = 160;
  spec.max_positions = 512;
  spec.tied_head = true;
  return with_byte_tokens(spec);
}

std::vector<KnownModel> make_known_models() {
  // An empty source: a folder of one cluster, or not public.
  return {
      {"allam-1-13b", ""},
      {"granite-13b-v2", ""},
      {"granite-20b-v2", ""},
      {"granite-3-8b", "ibm-granite/granite-3.0-8b-base"},
      {"granite-3.0-1b-a400m-base", "ibm-granite/granite-3.0-1b-a400m-base"},
      {"granite-3.1-2b", "ibm-granite/granite-3.1-2b-base"},
      {"granite-3.1-3b-a800m-instruct", "ibm-granite/granite-3.1-3b-a800m-instruct"},
      {"granite-3.1-8b-instruct", "ibm-granite/granite-3.1-8b-instruct"},
      {"granite-3.3-8b", "ibm-granite/granite-3.3-8b-base"},
      {"granite-34b-code-base", ""},
      {"granite-3b-1.5", ""},
      {"granite-3b-code-base-128k", "ibm-granite/granite-3b-code-base-128k"},
      {"granite-4.0-1b", "ibm-granite/granite-4.0-1b"},
      {"granite-4.0-350m", "ibm-granite/granite-4.0-350m"},
      {"granite-4.0-h-1b", "ibm-granite/granite-4.0-h-1b"},
      {"granite-4.0-h-micro", "ibm-granite/granite-4.0-h-micro"},
      {"granite-4.0-h-small", "ibm-granite/granite-4.0-h-small"},
      {"granite-4.0-h-tiny", "ibm-granite/granite-4.0-h-tiny"},
      {"granite-4.0-micro", "ibm-granite/granite-4.0-micro"},
      {"granite-7b-base", "ibm-granite/granite-7b-base"},
      {"granite-8b-code-base", ""},
      {"granite-8b-code-base-128k", "ibm-granite/granite-8b-code-base-128k"},
      {"granite-8b-code-instruct", ""},
      {"granite-8b-japanese", ""},
      {"granite-vision-3.2-2b", "ibm-granite/granite-vision-3.2-2b"},
      {"hf-tiny-model-private/tiny-random-BloomForCausalLM", ""},
      {"llama-13b", ""},
      {"llama-7b", ""},
      {"llama2-70b", ""},
      {"llama3-70b", ""},
      {"llama3-8b", ""},
      {"llama3.1-405b", ""},
      {"llama3.1-70b", ""},
      {"llama3.1-8b", ""},
      {"llama3.2-1b", "meta-llama/Llama-3.2-1B"},
      {"llama3.2-3b", "meta-llama/Llama-3.2-3B"},
      {"llava-v1.6-mistral-7b", "llava-hf/llava-v1.6-mistral-7b-hf"},
      {"mistral-123b-v2", ""},
      {"mistral-7b-v0.1", ""},
      {"mixtral-8x7b-instruct-v0.1", ""},
      {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M"},
  };
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = {
      {"smollm2-135m", "the shape of SmolLM2-135M, random weights", smollm2_135m()},
      {"tiny", "a Llama of two small layers for demos and tests, random weights", tiny()},
  };
  return list;
}

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> list = make_known_models();
  return list;
}

}  // namespace tunebench::model
