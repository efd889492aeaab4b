#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/experiment/property.h"

namespace tunebench::experiment {

/// One of the experiments of the reference system.
struct Experiment {
  std::string id;  ///< finetune_full_benchmark-v1.0.0
  std::string description;
  std::string method;                                  ///< full, lora, pt, gptq-lora
  std::string purpose;                                 ///< Performance, Stability
  std::string weights_format;                          ///< Vanilla, GPTQ-Quantized
  std::vector<std::pair<std::string, Json>> fixed;     ///< parameters a user cannot change
  std::vector<std::pair<std::string, Json>> defaults;  ///< where they differ from the table
  std::vector<std::string> measured;                   ///< names of measured properties
  bool runnable = false;                               ///< a trainer of this version can run it
};
const std::vector<Experiment>& experiments();
/// By id, or id without "-v1.0.0". nullptr when there is none.
const Experiment* find_experiment(std::string_view id);

/// Values of all properties, by name, defaults filled in.
using Inputs = std::map<std::string, Json>;

/// What to measure: an experiment with every input resolved.
struct Point {
  std::string experiment;
  Inputs inputs;

  [[nodiscard]] const Json& input(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return input(name).as_int(); }
  [[nodiscard]] double real(std::string_view name) const { return input(name).as_double(); }
  [[nodiscard]] bool boolean(std::string_view name) const { return input(name).as_bool(); }
  [[nodiscard]] const std::string& text(std::string_view name) const {
    return input(name).as_string();
  }
};

/// Given values (several per property) to points: the product, last property varying fastest in
/// the order given, defaults filled in. Unknown, doubled, missing and fixed properties, values out
/// of their domain, an experiment that cannot be run and more than 100,000 points are diagnosed;
/// then the result is empty.
struct GivenValues {
  std::string property;
  std::vector<Json> values;
};
std::vector<Point> expand(const Experiment& experiment, const std::vector<GivenValues>& given,
                          Diagnostics& problems);

/// The rules between properties (batch against GPUs, GPUs against nodes, ...) and what the point's
/// trainer cannot do ("fast_moe 2 is not supported by trainer native"). A property that a trainer
/// does not read is accepted only with its default. Trainer simulated takes all values and as many
/// GPUs as it is told. trainer_rules.h says what each can do.
void validate(const Point& point, Diagnostics& problems);
/// The same for a machine with that many GPUs.
void validate(const Point& point, int gpus_here, Diagnostics& problems);

/// What makes two measurements the same; all parts are in the key.
struct KeyParts {
  std::string metric_schema;
  std::string trainer;
  std::string trainer_version;
  std::string hardware_class;
  std::string model_fingerprint;
  std::string dataset_fingerprint;
};
/// sha256 of the canonical JSON of inputs and parts (spec: numbers in shortest exact form, keys
/// sorted, defaults filled in).
std::string reuse_key(const Point& point, const KeyParts& parts);

}  // namespace tunebench::experiment
