// Rules between properties, and what trainer native cannot do. V1, V3, V4, V5 and V6 are rules of
// the reference system; its V7 (experts against fast_moe) needs the model and comes with the
// trainers that have fast_moe.
#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/experiment/trainer_rules.h"
#include "tunebench/hardware/host.h"
#include "tunebench/model/model_source.h"

namespace tunebench::experiment {
namespace {

class Rules {
 public:
  Rules(const Point& point, int gpus_here, Diagnostics& problems)
      : point_(point), gpus_here_(gpus_here), problems_(problems) {}

  void check_everywhere() {
    check_batch();
    check_nodes();
    check_experts();
    check_quantised_dtype();
  }

  void check() {
    check_everywhere();
    const TrainerRules* trainer = find_trainer_rules(point_.text("trainer"));
    if (trainer == nullptr) {
      return;  // not in the property's domain, which is told elsewhere
    }
    check_method(*trainer);
    if (!trainer->any_gpus) {
      check_gpus();
    }
    if (trainer->name == "native") {
      check_native();
    } else if (!trainer->takes_all) {
      check_honoured(*trainer);
    }
  }

 private:
  void report(std::string text, std::string hint = "") {
    problems_.push_back({"", std::move(text), std::move(hint)});
  }

  /// "; nearest: 4, 8": multiples of `unit` around `value` that the property may be.
  static std::string nearest_multiples(std::string_view name, std::int64_t value,
                                       std::int64_t unit) {
    const Domain& domain = find_property(name)->domain;
    std::vector<std::string> texts;
    const std::int64_t below = value / unit * unit;
    for (const std::int64_t number : {below, below + unit}) {
      const auto real = static_cast<double>(number);
      if (number >= 1 && real >= *domain.lower && real < *domain.upper) {
        texts.push_back(std::to_string(number));
      }
    }
    return texts.empty() ? "" : "; nearest: " + join(texts, ", ");
  }

  /// V1. No GPU counts as one device.
  void check_batch() {
    const std::int64_t batch = point_.integer("batch_size");
    const std::int64_t gpus = point_.integer("number_gpus");
    if (gpus > 1 && batch % gpus != 0) {
      report(fmt::format("batch_size is {} but number_gpus is {}{}", batch, gpus,
                         nearest_multiples("batch_size", batch, gpus)));
    }
  }

  /// V3.
  void check_nodes() {
    const std::int64_t gpus = point_.integer("number_gpus");
    const std::int64_t nodes = point_.integer("number_nodes");
    if (std::max<std::int64_t>(gpus, 1) % nodes != 0) {
      report(fmt::format("number_gpus is {} but number_nodes is {}{}", gpus, nodes,
                         nearest_multiples("number_gpus", gpus, nodes)));
    }
  }

  /// V4 and V5.
  void check_experts() {
    const std::int64_t degree = point_.integer("fast_moe");
    if (degree == 0) {
      return;
    }
    const std::int64_t gpus = point_.integer("number_gpus");
    if (gpus % degree != 0) {
      report(fmt::format("number_gpus is {} but fast_moe is {}{}", gpus, degree,
                         nearest_multiples("number_gpus", gpus, degree)));
    }
    const std::string& version = point_.text("fms_hf_tuning_version");
    if (numbers_of(version) < std::vector<std::int64_t>{2, 4, 0}) {
      report(fmt::format("fast_moe is {} but fms_hf_tuning_version is {}; nearest: 2.4.0", degree,
                         version));
    }
  }

  /// V6.
  void check_quantised_dtype() {
    const Experiment* experiment = find_experiment(point_.experiment);
    const bool quantised = experiment != nullptr && experiment->weights_format == "GPTQ-Quantized";
    if (quantised && point_.text("torch_dtype") != "float16") {
      report(fmt::format("torch_dtype is {} but {} needs float16", point_.text("torch_dtype"),
                         point_.experiment));
    }
  }

  void check_gpus() {
    const std::int64_t gpus = point_.integer("number_gpus");
    if (gpus > gpus_here_) {
      report(fmt::format("number_gpus is {} but this machine has {} GPU{}", gpus, gpus_here_,
                         gpus_here_ == 1 ? "" : "s"));
    }
  }

  void unsupported(std::string_view name, std::string hint = "") {
    const Json& value = point_.input(name);
    report(fmt::format("{} {} is not supported by trainer {}", name, text_of(value),
                       point_.text("trainer")),
           std::move(hint));
  }

  static std::string text_of(const Json& value) {
    return value.is_string() ? value.as_string() : value.dump();
  }

  void check_method(const TrainerRules& trainer) {
    const Experiment* experiment = find_experiment(point_.experiment);
    const std::string method = experiment == nullptr ? "" : experiment->method;
    if (std::ranges::find(trainer.methods, method) == trainer.methods.end()) {
      const std::vector<std::string> able = trainers_for(method);
      report(fmt::format("{} cannot be run by trainer {}", point_.experiment, trainer.name),
             able.empty() ? "" : "trainers that can: " + join(able, ", "));
    }
  }

  /// The default of the point's experiment.
  [[nodiscard]] Json default_of(const Property& property) const {
    const Experiment* experiment = find_experiment(point_.experiment);
    if (experiment != nullptr) {
      for (const auto* list : {&experiment->fixed, &experiment->defaults}) {
        for (const auto& [name, value] : *list) {
          if (name == property.name) {
            return value;
          }
        }
      }
    }
    return property.default_value;
  }

  /// An input that a trainer would silently ignore is refused.
  void check_honoured(const TrainerRules& trainer) {
    for (const Property& property : properties()) {
      const Json& value = point_.input(property.name);
      const bool honoured =
          std::ranges::find(trainer.honoured, property.name) != trainer.honoured.end();
      if (!honoured && value != default_of(property)) {
        unsupported(property.name, "leave it out");
      }
    }
    for (const auto& [name, values] : trainer.only) {
      if (std::ranges::find(values, point_.input(name)) == values.end()) {
        std::vector<std::string> texts;
        for (const Json& value : values) {
          texts.push_back(text_of(value));
        }
        unsupported(name, "it can do " + join(texts, ", "));
      }
    }
    const std::string& model = point_.text("model_name");
    if (trainer.needs_folder && std::ranges::find(model::presets(), model, &model::Preset::name) !=
                                    model::presets().end()) {
      unsupported("model_name",
                  "a preset has random weights and no files; give the path of a model folder");
    }
    if (point_.integer("model_max_length") < 2) {
      report(
          "model_max_length 1 leaves nothing to train: a token is predicted from those before it",
          "at least 2");
    }
  }

  void check_native() {
    if (point_.integer("number_gpus") > 0) {
      unsupported("number_gpus", "this build has no GPU backend; use 0");
    }
    if (point_.integer("model_max_length") < 2) {
      report(
          "model_max_length 1 leaves nothing to train: a token is predicted from those before it",
          "at least 2");
    }
    const std::string& optimizer = point_.text("optim");
    if (optimizer != "adamw_torch" && optimizer != "adamw_torch_fused") {
      unsupported("optim", "use adamw_torch");
    }
    if (point_.text("dataset_text_field") == "messages") {
      unsupported("dataset_text_field", "use a field that holds plain text");
    }
    if (is_vision_dataset(point_.text("dataset_id"))) {
      unsupported("dataset_id", "use a text dataset");
    }
    const Experiment* experiment = find_experiment(point_.experiment);
    for (const Property& property : properties()) {
      const bool read =
          property.native &&
          (property.methods.empty() || experiment == nullptr ||
           std::ranges::find(property.methods, experiment->method) != property.methods.end());
      if (!read && point_.input(property.name) != property.default_value) {
        unsupported(property.name, property.default_value.is_null()
                                       ? "leave it out"
                                       : "leave it out or give its default " +
                                             (property.default_value.is_string()
                                                  ? property.default_value.as_string()
                                                  : property.default_value.dump()));
      }
    }
  }

  /// A path may start with the same word.
  static bool is_vision_dataset(const std::string& id) {
    const std::vector<Json>& known = find_property("dataset_id")->domain.values;
    return id.starts_with("vision-") && std::ranges::find(known, Json(id)) != known.end();
  }

  /// "2.4.0" to 2, 4, 0.
  static std::vector<std::int64_t> numbers_of(std::string_view version) {
    std::vector<std::int64_t> numbers;
    for (const std::string& part : split(version, '.')) {
      numbers.push_back(parse_int(part).value_or(0));
    }
    return numbers;
  }

  const Point& point_;
  int gpus_here_;
  Diagnostics& problems_;
};

}  // namespace

void check_rules(const Point& point, Diagnostics& problems) {
  Rules(point, 0, problems).check_everywhere();
}

void validate(const Point& point, int gpus_here, Diagnostics& problems) {
  Rules(point, gpus_here, problems).check();
}

void validate(const Point& point, Diagnostics& problems) {
  validate(point, hardware::gpu_count(), problems);
}

}  // namespace tunebench::experiment
