#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/engine/methods/make_methods.h"
#include "tunebench/engine/methods/method.h"
#include "tunebench/model/parameter_groups.h"

namespace tunebench::engine {

// Out of line, so that the class's tables are made once, here.
Method::~Method() = default;

model::ModelSpec Method::shape(const model::ModelSpec& spec) const {
  return spec;
}

std::vector<std::unique_ptr<Adapter>> Method::attach(const model::ModelSpec& /*spec*/,
                                                     Parameters& /*parameters*/) const {
  return {};
}

Json Method::config_of(const model::ModelSpec& /*spec*/) const {
  return config();
}

std::int64_t Method::virtual_tokens() const {
  return 0;
}

const Parameter* Method::prompt(const Parameters& /*parameters*/) const {
  return nullptr;
}

std::string Method::beginning_text() const {
  return "";
}

std::string Method::stored_name(const model::ModelSpec& /*spec*/, std::string_view tensor) const {
  return fmt::format("base_model.model.{}", tensor);
}

const std::vector<MethodKind>& methods() {
  static const std::vector<MethodKind> kMethods{
      {.peft_type = "LORA", .title = "LoRA", .make = make_lora},
      {.peft_type = "PROMPT_TUNING", .title = "prompt tuning", .make = make_prompt_tuning},
  };
  return kMethods;
}

std::unique_ptr<Method> make_method(const Json& config, std::string_view origin) {
  const Json* const type = config.find("peft_type");
  if (type == nullptr || !type->is_string()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: peft_type is missing", origin));
  }
  std::vector<std::string> known;
  for (const MethodKind& kind : methods()) {
    if (kind.peft_type == type->as_string()) {
      return kind.make(config, origin);
    }
    known.emplace_back(kind.peft_type);
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: peft_type {} is not supported; this program has {}", origin,
                          printable(type->as_string()), join(known, ", ")));
}

std::int64_t trained_parameter_count(const Method* method, const model::ModelSpec& spec) {
  if (method == nullptr) {
    return model::parameter_count(spec);
  }
  const model::ModelSpec shape = method->shape(spec);
  const Training training = method->training(shape);
  std::int64_t count = 0;
  for (const model::TensorShape& tensor : model::tensor_shapes(shape)) {
    const auto& named = training.tensors;
    if (training.whole_model || std::find(named.begin(), named.end(), tensor.name) != named.end()) {
      count += tensor.elements();
    }
  }
  for (const AddedMatrix& matrix : training.added) {
    count += matrix.rows() * matrix.cols;
  }
  return count;
}

double training_flops_per_token(const Method* method, const model::ModelSpec& spec,
                                std::int64_t length) {
  if (method == nullptr) {
    return model::training_flops_per_token(spec, length).forward_backward();
  }
  const std::int64_t whole = length + method->virtual_tokens();
  const model::TrainingFlops flops = model::training_flops_per_token(spec, whole);
  const double stretch = static_cast<double>(whole) / static_cast<double>(length);
  const model::ModelSpec shape = method->shape(spec);
  const Training training = method->training(shape);
  // Forward and the gradient of the input; attention has no weights, its backward is twice. The
  // head is asked of no virtual token.
  double total =
      stretch * (2.0 * (flops.projections + flops.mlp) + 3.0 * flops.attention) + 2.0 * flops.head;
  for (const model::ParameterGroup& group : model::parameter_groups(shape)) {
    const bool product = !group.vector() && group.role != model::ParameterRole::Embedding &&
                         group.role != model::ParameterRole::Positions;
    for (const model::ParameterGroup::Part& part : group.parts) {
      const auto& named = training.tensors;
      if (product && std::find(named.begin(), named.end(), part.name) != named.end()) {
        total += 2.0 * static_cast<double>(part.outputs * group.inputs);
      }
    }
  }
  for (const AddedMatrix& matrix : training.added) {
    total += matrix.multiplies ? 6.0 * static_cast<double>(matrix.rows() * matrix.cols) : 0.0;
  }
  return total;
}

}  // namespace tunebench::engine
