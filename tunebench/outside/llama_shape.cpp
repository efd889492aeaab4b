#include "tunebench/outside/llama_shape.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::outside {

void check_llama_shape(const model::ModelSpec& spec, std::string_view trainer) {
  using Scaling = model::RopeScaling::Type;
  const auto refuse = [trainer](const std::string& what) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("trainer {} is given models of the Llama shape only, and this one {}",
                            trainer, what));
  };
  if (spec.model_type != "llama" && spec.model_type != "mistral") {
    refuse("is of type " + printable(spec.model_type));
  }
  if (spec.qkv_bias || spec.output_bias || spec.mlp_bias) {
    refuse("has biases");
  }
  if (spec.window > 0) {
    refuse("has a sliding window");
  }
  if (spec.rope_scaling.type != Scaling::None && spec.rope_scaling.type != Scaling::Llama3) {
    refuse("scales its rotary positions in another way than Llama 3");
  }
}

}  // namespace tunebench::outside
