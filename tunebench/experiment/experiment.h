#pragma once

#include <map>
#include <optional>
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

/// Values given for one property.
struct GivenValues {
  std::string property;
  std::vector<Json> values;
  std::string where = {};  ///< "plan.yaml:9:5" or "--batch", for messages
};

/// A checked product of values: one point for each choice of them.
struct Grid {
  std::vector<GivenValues> dimensions;  ///< in the order given, each with at least one value
  Inputs base;                          ///< defaults and fixed parameters of all the others
};
/// Given values to a grid. Unknown, doubled, missing and fixed properties, values out of their
/// domain and an experiment that cannot be run are diagnosed; then there is none.
std::optional<Grid> make_grid(const Experiment& experiment, const std::vector<GivenValues>& given,
                              Diagnostics& problems);

/// The points of make_grid: the product, last property varying fastest in the order given. More
/// than 100,000 points are diagnosed, too; then the result is empty.
std::vector<Point> expand(const Experiment& experiment, const std::vector<GivenValues>& given,
                          Diagnostics& problems);

/// Names of all properties, for the nearest word.
const std::vector<std::string>& property_names();

/// The rules that hold wherever a point is measured: batch against GPUs, GPUs against nodes, ...
void check_rules(const Point& point, Diagnostics& problems);

/// The rules of check_rules and what the point's trainer cannot do ("fast_moe 2 is not supported by
/// trainer native"). A property that a trainer does not read is accepted only with its default.
/// Trainer simulated takes all values and as many GPUs as it is told. trainer_rules.h says what
/// each can do.
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
  std::string driver = {};  ///< major version; of points on GPUs, as the next two
  std::string cuda = {};    ///< major version
  std::string mig = {};     ///< profile of the slice
};
/// sha256 of the canonical JSON of inputs and parts (spec: numbers in shortest exact form, keys
/// sorted, defaults filled in).
std::string reuse_key(const Point& point, const KeyParts& parts);
/// The same of what is measured alone: experiment, inputs, fingerprints.
std::string point_key(const Point& point, const KeyParts& parts);

}  // namespace tunebench::experiment
