#include "tunebench/campaign/resolver.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/model_tokenizer.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/experiment/short_name.h"
#include "tunebench/model/model_source.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::campaign {

namespace {

/// Something opened once and asked for by many points; its failure is told once.
template <typename Value>
class Opened {
 public:
  using Maker = std::function<std::shared_ptr<Value>()>;

  std::shared_ptr<Value> get(const std::string& key, Diagnostics& problems, const Maker& make) {
    const auto [place, added] = values_.try_emplace(key);
    if (added) {
      try {
        place->second = make();
      } catch (const Error& error) {
        if (error.code() == ErrorCode::Internal) {
          throw;
        }
        problems.push_back({"", error.message(), ""});
      }
    }
    return place->second;
  }

 private:
  std::map<std::string, std::shared_ptr<Value>> values_;
};

/// Opens what points name.
class PointOpener {
 public:
  PointOpener(const Machine& machine, Diagnostics& problems)
      : machine_(machine), problems_(problems) {}

  bool plans_memory = false;

  /// Fills in all that depends on model and data. False when something is wrong, which is told.
  bool resolve(PlannedPoint& planned);

 private:
  std::shared_ptr<model::ModelSource> model_of(const experiment::Point& point);
  std::shared_ptr<data::Tokenizer> tokenizer_of(const std::string& model_name,
                                                const model::ModelSource& source);
  std::shared_ptr<data::Dataset> dataset_of(const experiment::Point& point,
                                            const data::Tokenizer& tokenizer);
  bool check_length(const experiment::Point& point, const model::ModelSource& source);
  std::shared_ptr<trainer::TrainingFacts> facts_of(const experiment::Point& point,
                                                   const model::ModelSource& source);
  std::int64_t needed_bytes(const experiment::Point& point, const model::ModelSource& source,
                            std::int64_t memory_bytes);

  const Machine& machine_;
  Diagnostics& problems_;
  std::map<std::string, std::int64_t> needs_;
  Opened<model::ModelSource> models_;
  Opened<data::Tokenizer> tokenizers_;
  Opened<data::Dataset> datasets_;
  Opened<trainer::TrainingFacts> facts_;
};

std::shared_ptr<model::ModelSource> PointOpener::model_of(const experiment::Point& point) {
  const std::string& name = point.text("model_name");
  return models_.get(name, problems_, [&name] {
    return std::make_shared<model::ModelSource>(model::resolve_model(name));
  });
}

std::shared_ptr<data::Tokenizer> PointOpener::tokenizer_of(const std::string& model_name,
                                                           const model::ModelSource& source) {
  return tokenizers_.get(model_name, problems_, [&source] {
    return std::shared_ptr<data::Tokenizer>(data::resolve_tokenizer(source));
  });
}

std::shared_ptr<data::Dataset> PointOpener::dataset_of(const experiment::Point& point,
                                                       const data::Tokenizer& tokenizer) {
  const std::string& id = point.text("dataset_id");
  const std::string& field = point.text("dataset_text_field");
  const std::string key = id + '\n' + field + '\n' + tokenizer.name();
  return datasets_.get(key, problems_, [&] {
    return std::shared_ptr<data::Dataset>(data::resolve_dataset(id, field, tokenizer));
  });
}

bool PointOpener::check_length(const experiment::Point& point, const model::ModelSource& source) {
  const std::int64_t length = point.integer("model_max_length");
  // A tokenizer may set a smaller limit, and samples cut to it would not be what the point says.
  const std::int64_t most = data::effective_length(source, model::longest_sequence(source.spec));
  if (length <= most) {
    return true;
  }
  problems_.push_back({"",
                       fmt::format("model_max_length {} is above the limit of model '{}'", length,
                                   printable(point.text("model_name"))),
                       fmt::format("at most {}", most)});
  return false;
}

void set_keys(PlannedPoint& planned, Json conditions, const std::string& model_fingerprint,
              const std::string& dataset_fingerprint) {
  const auto text = [&conditions](std::string_view name) {
    const Json* value = conditions.find(name);
    return value == nullptr ? std::string() : value->as_string();
  };
  const experiment::KeyParts parts{.metric_schema = text("metric_schema"),
                                   .trainer = text("trainer"),
                                   .trainer_version = text("trainer_version"),
                                   .hardware_class = text("hardware_class"),
                                   .model_fingerprint = model_fingerprint,
                                   .dataset_fingerprint = dataset_fingerprint,
                                   .driver = text("driver"),
                                   .cuda = text("cuda"),
                                   .mig = text("mig")};
  planned.key = experiment::reuse_key(planned.point, parts);
  planned.point_key = experiment::point_key(planned.point, parts);
  planned.conditions = std::move(conditions);
}

/// Model, experiment and what its method reads.
std::string method_key(const experiment::Point& point) {
  std::string key = point.text("model_name") + '\n' + point.experiment;
  for (const experiment::Property& property : experiment::properties()) {
    if (!property.methods.empty()) {
      key += '\n' + point.input(property.name).dump();
    }
  }
  return key;
}

std::shared_ptr<trainer::TrainingFacts> PointOpener::facts_of(const experiment::Point& point,
                                                              const model::ModelSource& source) {
  const std::string key =
      fmt::format("{}\n{}", method_key(point), point.integer("model_max_length"));
  return facts_.get(key, problems_, [&] {
    return std::make_shared<trainer::TrainingFacts>(trainer::training_facts(source, point));
  });
}

/// Points that differ in what takes no memory are planned once.
std::int64_t PointOpener::needed_bytes(const experiment::Point& point,
                                       const model::ModelSource& source,
                                       std::int64_t memory_bytes) {
  const std::string key =
      fmt::format("{}\n{} {} {} {} {}", method_key(point), point.integer("model_max_length"),
                  trainer::device_batch_size(point), point.text("torch_dtype"),
                  point.boolean("gradient_checkpointing"), memory_bytes);
  const auto [place, added] = needs_.try_emplace(key, 0);
  if (added) {
    place->second = trainer::native_memory(source, point, memory_bytes);
  }
  return place->second;
}

bool PointOpener::resolve(PlannedPoint& planned) {
  const experiment::Point& point = planned.point;
  const std::shared_ptr<model::ModelSource> source = model_of(point);
  if (source == nullptr) {
    return false;
  }
  const bool length_fits = check_length(point, *source);
  const std::shared_ptr<data::Tokenizer> tokenizer =
      tokenizer_of(point.text("model_name"), *source);
  if (tokenizer == nullptr) {
    return false;
  }
  const std::shared_ptr<data::Dataset> dataset = dataset_of(point, *tokenizer);
  if (dataset == nullptr || !length_fits) {
    return false;
  }
  // What breaks a rule cannot be divided over its devices; no step of it is made.
  planned.planned_steps =
      planned.invalid.empty() ? trainer::planned_steps(point, dataset->size()) : 0;
  const std::int64_t length = point.integer("model_max_length");
  const std::shared_ptr<trainer::TrainingFacts> facts = facts_of(point, *source);
  if (facts == nullptr) {
    return false;
  }
  const double flops_per_token = facts->flops_per_token;
  planned.flops_per_step = flops_per_token * static_cast<double>(length) *
                           static_cast<double>(point.integer("batch_size")) *
                           static_cast<double>(point.integer("gradient_accumulation_steps"));
  planned.memory_bytes = memory_bound(machine_.memory_bytes, point.real("memory_limit_gib"));
  if (plans_memory && planned.invalid.empty() && machine_.of(point).trainer == "native") {
    planned.needed_bytes = needed_bytes(point, *source, planned.memory_bytes);
  }
  planned.facts = {{"parameters", model::parameter_count(source->spec)},
                   {"trained_parameters", facts->trained_parameters},
                   {"flops_per_token", flops_per_token},
                   {"weights", source->random_weights() ? "random" : "loaded"}};
  set_keys(planned, conditions_of(machine_.of(point), point), source->fingerprint,
           dataset->fingerprint());
  return true;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump();
}

}  // namespace

std::string title_of(const space::Space& space, const experiment::Point& point) {
  std::vector<std::string> parts;
  for (const space::Dimension& dimension : space.dimensions()) {
    parts.push_back(fmt::format("{}={}", experiment::short_name(dimension.property),
                                value_text(point.input(dimension.property))));
  }
  const std::vector<space::Variant>& variants = space.variants();
  if (std::ranges::any_of(variants, [&](const space::Variant& variant) {
        return variant.experiment != variants.front().experiment;
      })) {
    parts.push_back(point.experiment);
  }
  for (const std::string& name : variants.front().own) {
    parts.push_back(
        fmt::format("{}={}", experiment::short_name(name), value_text(point.input(name))));
  }
  return join(parts, " ");
}

struct Resolver::State {
  const Request& request;
  const space::Space& space;
  const Machine& machine;
  Diagnostics& problems;
  PointOpener opener;
};

Resolver::Resolver(const Request& request, const space::Space& space, const Machine& machine,
                   Diagnostics& problems)
    : state_(std::make_unique<State>(
          State{request, space, machine, problems, PointOpener(machine, problems)})) {}

Resolver::~Resolver() = default;

void Resolver::plan_memory() {
  state_->opener.plans_memory = true;
}

std::optional<PlannedPoint> Resolver::resolve(const space::Digits& digits) {
  return resolve(state_->space.point(digits));
}

std::optional<PlannedPoint> Resolver::resolve(experiment::Point point) {
  const Request& request = state_->request;
  Diagnostics& problems = state_->problems;
  PlannedPoint planned{.point = std::move(point)};
  const std::size_t before = problems.size();
  Diagnostics broken;
  if (request.keep_invalid) {
    experiment::check_rules(planned.point, broken);
  }
  if (broken.empty()) {
    experiment::validate(planned.point, problems);
  } else {
    planned.invalid = broken.front().line();
  }
  if (problems.size() > before) {
    return std::nullopt;
  }
  try {
    if (!state_->opener.resolve(planned)) {
      return std::nullopt;
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
    problems.push_back({"", error.message(), ""});
    return std::nullopt;
  }
  planned.title = title_of(state_->space, planned.point);
  planned.timeout_s = request.timeout_s.value_or(default_timeout_s(
      planned.point, planned.flops_per_step, planned.planned_steps, state_->machine.cores));
  return planned;
}

}  // namespace tunebench::campaign
