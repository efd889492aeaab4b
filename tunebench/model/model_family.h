#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tunebench::model {

struct Family {
  std::string_view model_type;
  std::string_view architecture;
  std::int64_t max_positions;   ///< when the file is silent
  std::int64_t sliding_window;  ///< when the file is silent; 0: none
};

// Defaults of the configuration classes of transformers 5.24.
inline constexpr std::array<Family, 3> kFamilies = {{
    {"llama", "LlamaForCausalLM", 2048, 0},
    {"mistral", "MistralForCausalLM", 131072, 4096},
    {"qwen2", "Qwen2ForCausalLM", 32768, 0},
}};

}  // namespace tunebench::model
