#include <string>
#include <utility>
#include <vector>

#include "tunebench/model/model_source.h"
#include "tunebench/model/reference_models.h"

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

std::vector<Preset> make_presets() {
  std::vector<Preset> list = {
      {"smollm2-135m", "the shape of SmolLM2-135M, random weights", smollm2_135m()},
      {"tiny", "a Llama of two small layers for demos and tests, random weights", tiny()},
  };
  for (Preset& preset : reference_models()) {
    preset.spec = with_byte_tokens(std::move(preset.spec));
    list.push_back(std::move(preset));
  }
  return list;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = make_presets();
  return list;
}

}  // namespace tunebench::model
