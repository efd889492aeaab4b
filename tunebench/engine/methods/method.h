#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// What the values of added tensors are made of.
struct Beginning {
  std::uint64_t seed = 1;
  std::vector<std::int32_t> text = {};  ///< tokens of Method::beginning_text()
};

/// How a model is fine-tuned when not all of it is: what is frozen, what is added, and where that
/// takes part in the arithmetic. One file of this folder each, and a line of methods().
///
/// Settings are in the words of PEFT's adapter_config.json, so that its folders are read and
/// written with no table between. Immutable, hence thread-safe.
class Method {
 public:
  Method() = default;
  virtual ~Method();
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  Method(Method&&) = delete;
  Method& operator=(Method&&) = delete;

  /// The settings as adapter_config.json holds them, peft_type included.
  [[nodiscard]] virtual Json config() const = 0;

  /// The same for a folder: with what PEFT wants to read there of the model.
  [[nodiscard]] virtual Json config_of(const model::ModelSpec& spec) const;

  /// The shape that is trained: as given, but a head that is trained apart is no longer tied.
  [[nodiscard]] virtual model::ModelSpec shape(const model::ModelSpec& spec) const;

  /// What is trained of a model of shape().
  /// Errors: InvalidInput naming what the settings ask for and the model has not.
  [[nodiscard]] virtual Training training(const model::ModelSpec& spec) const = 0;

  /// Puts what the method computes around the projections of `parameters`, which were made with
  /// training(). What is returned must live as long as they.
  [[nodiscard]] virtual std::vector<std::unique_ptr<Adapter>> attach(const model::ModelSpec& spec,
                                                                     Parameters& parameters) const;

  /// Rows that stand before the tokens of each sequence.
  [[nodiscard]] virtual std::int64_t virtual_tokens() const;
  /// Those rows; nullptr: there are none.
  [[nodiscard]] virtual const Parameter* prompt(const Parameters& parameters) const;

  /// A text whose tokens begin() takes; empty: none.
  [[nodiscard]] virtual std::string beginning_text() const;
  /// Values of the added tensors at the start. Those of the model are there already.
  /// Errors: InvalidInput when the text has no tokens.
  virtual void begin(const model::ModelSpec& spec, const Beginning& beginning,
                     const Parameters& parameters) const = 0;

  /// What adapter_model.safetensors calls a tensor of the model that is trained.
  [[nodiscard]] virtual std::string stored_name(const model::ModelSpec& spec,
                                                std::string_view tensor) const;
};

/// One kind of method.
struct MethodKind {
  std::string_view peft_type;  ///< of adapter_config.json: LORA
  std::string_view title;      ///< for people: LoRA
  std::unique_ptr<Method> (*make)(const Json& config, std::string_view origin);
};

/// In the order in which they are shown.
const std::vector<MethodKind>& methods();

/// The method that `config` describes. `origin` names it in messages.
/// Errors: InvalidInput for a value that cannot be; Unsupported for a peft_type that is not one of
/// methods() and for a setting with a meaning that the method does not have, by name. Settings that
/// are null, false or empty mean nothing and are passed over.
std::unique_ptr<Method> make_method(const Json& config, std::string_view origin);

/// Trained elements; with no method, all of the model.
std::int64_t trained_parameter_count(const Method* method, const model::ModelSpec& spec);

/// Arithmetic of forward and backward per token of a sequence of `length`, recompute not counted:
/// what model::training_flops_per_token counts, with 2 FLOP for the gradient of a weight only where
/// it is trained, and 6 for each element of an added matrix that takes part in a product. Virtual
/// tokens are counted into the tokens they stand before. Formulas: docs/metrics.md.
double training_flops_per_token(const Method* method, const model::ModelSpec& spec,
                                std::int64_t length);

}  // namespace tunebench::engine
