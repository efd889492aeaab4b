#include "tunebench/campaign/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/model_tokenizer.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/measure/window.h"
#include "tunebench/model/model_source.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::campaign {

namespace {

/// Steps until a window is full when a step takes so long that warm-up ends by the clock.
constexpr std::int64_t kSlowStepsOfAWindow = 25;
/// A rate that even a slow core reaches; only bounds the time that a measurement may take.
constexpr double kSlowFlopsPerCore = 4e9;
constexpr double kShortestTimeoutS = 600.0;

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
class Resolver {
 public:
  Resolver(const Machine& machine, Diagnostics& problems)
      : machine_(machine), problems_(problems) {}

  /// Fills in all that depends on model and data. False when something is wrong, which is told.
  bool resolve(PlannedPoint& planned);

 private:
  std::shared_ptr<model::ModelSource> model_of(const experiment::Point& point);
  std::shared_ptr<data::Tokenizer> tokenizer_of(const std::string& model_name,
                                                const model::ModelSource& source);
  std::shared_ptr<data::Dataset> dataset_of(const experiment::Point& point,
                                            const data::Tokenizer& tokenizer);
  bool check_length(const experiment::Point& point, const model::ModelSource& source);

  const Machine& machine_;
  Diagnostics& problems_;
  Opened<model::ModelSource> models_;
  Opened<data::Tokenizer> tokenizers_;
  Opened<data::Dataset> datasets_;
};

std::shared_ptr<model::ModelSource> Resolver::model_of(const experiment::Point& point) {
  const std::string& name = point.text("model_name");
  return models_.get(name, problems_, [&name] {
    return std::make_shared<model::ModelSource>(model::resolve_model(name));
  });
}

std::shared_ptr<data::Tokenizer> Resolver::tokenizer_of(const std::string& model_name,
                                                        const model::ModelSource& source) {
  return tokenizers_.get(model_name, problems_, [&source] {
    return std::shared_ptr<data::Tokenizer>(data::resolve_tokenizer(source));
  });
}

std::shared_ptr<data::Dataset> Resolver::dataset_of(const experiment::Point& point,
                                                    const data::Tokenizer& tokenizer) {
  const std::string& id = point.text("dataset_id");
  const std::string& field = point.text("dataset_text_field");
  const std::string key = id + '\n' + field + '\n' + tokenizer.name();
  return datasets_.get(key, problems_, [&] {
    return std::shared_ptr<data::Dataset>(data::resolve_dataset(id, field, tokenizer));
  });
}

bool Resolver::check_length(const experiment::Point& point, const model::ModelSource& source) {
  const std::int64_t length = point.integer("model_max_length");
  // A tokenizer may set a smaller limit, and samples cut to it would not be what the point says.
  const std::int64_t most = data::effective_length(source, source.spec.max_positions);
  if (length <= most) {
    return true;
  }
  problems_.push_back({"",
                       fmt::format("model_max_length {} is above the limit of model '{}'", length,
                                   printable(point.text("model_name"))),
                       fmt::format("at most {}", most)});
  return false;
}

bool Resolver::resolve(PlannedPoint& planned) {
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
  planned.planned_steps = trainer::planned_steps(point, dataset->size());
  const std::int64_t length = point.integer("model_max_length");
  const double flops_per_token =
      model::training_flops_per_token(source->spec, length).forward_backward();
  planned.flops_per_step = flops_per_token * static_cast<double>(length) *
                           static_cast<double>(point.integer("batch_size")) *
                           static_cast<double>(point.integer("gradient_accumulation_steps"));
  planned.memory_bytes = memory_bound(machine_.memory_bytes, point.real("memory_limit_gib"));
  planned.facts = {{"parameters", model::parameter_count(source->spec)},
                   {"flops_per_token", flops_per_token},
                   {"weights", source->random_weights() ? "random" : "loaded"}};
  const Machine& machine = machine_.of(point);
  planned.key =
      experiment::reuse_key(point, {.metric_schema = std::to_string(record::kMetricSchema),
                                    .trainer = machine.trainer,
                                    .trainer_version = machine.trainer_version,
                                    .hardware_class = machine.hardware_class,
                                    .model_fingerprint = source->fingerprint,
                                    .dataset_fingerprint = dataset->fingerprint()});
  return true;
}

/// "length=1024 batch=4" for the properties of which several values were given.
std::string title_of(const experiment::Point& point, const Request& request) {
  std::string title;
  for (const experiment::GivenValues& given : request.given) {
    if (given.values.size() < 2) {
      continue;
    }
    std::string name = given.property;
    const experiment::Property* property = experiment::find_property(name);
    for (const std::string& option : split(property->short_options, ',')) {
      name = option.size() > 2 ? option.substr(2) : name;
    }
    const Json& value = point.input(given.property);
    title += fmt::format("{}{}={}", title.empty() ? "" : " ", name,
                         value.is_string() ? value.as_string() : value.dump());
  }
  return title;
}

Repeats repeats_of(const Request& request, bool stability, std::size_t points,
                   Diagnostics& problems) {
  constexpr std::int64_t kSeveral = 3;
  constexpr std::int64_t kFewestForAnInterval = 2;
  if (stability) {
    if (request.repeats || request.until) {
      problems.push_back({"",
                          fmt::format("{} makes {} runs of each point; repeats cannot be chosen",
                                      request.experiment->id, kStabilityRuns),
                          "leave out --repeats and --until"});
    }
    return {.count = kStabilityRuns, .order_seed = request.order_seed};
  }
  Repeats repeats{.count = request.repeats.value_or(points > 1 || request.until ? kSeveral : 1),
                  .until = request.until,
                  .most = request.most_repeats,
                  .order_seed = request.order_seed};
  if (repeats.until) {
    repeats.count = std::max(repeats.count, kFewestForAnInterval);
    if (repeats.count > repeats.most) {
      problems.push_back({"",
                          fmt::format("{} repeats are more than the {} that --max-repeats allows",
                                      repeats.count, repeats.most),
                          ""});
    }
  }
  return repeats;
}

/// The same mistake at many points is one mistake.
void add_once(const Diagnostics& found, Diagnostics& problems) {
  std::set<std::string> told;
  for (const Diagnostic& problem : found) {
    if (told.insert(problem.line()).second) {
      problems.push_back(problem);
    }
  }
}

}  // namespace

const Machine& Machine::of(const experiment::Point& point) const {
  const auto wanted = point.inputs.find("trainer");
  for (const Machine& other : others) {
    if (wanted != point.inputs.end() && wanted->second == Json(other.trainer)) {
      return other;
    }
  }
  return *this;
}

double default_timeout_s(const experiment::Point& point, double flops_per_step,
                         std::int64_t planned_steps, int cores) {
  // The warm-up and the window of auto_stop_method, of which a slow step may run over the end.
  constexpr double kAutoStopS = 180.0;
  const double asked_s = std::max(point.input("auto_stop_method").is_null() ? 0.0 : kAutoStopS,
                                  point.real("stop_after_seconds"));
  const bool all_steps = measure::bounds_own_length(point) && asked_s <= 0;
  const std::int64_t most = all_steps ? planned_steps : kSlowStepsOfAWindow;
  const auto steps = static_cast<double>(
      std::clamp<std::int64_t>(most, 1, std::max<std::int64_t>(1, planned_steps)));
  const double slow_rate = kSlowFlopsPerCore * static_cast<double>(std::max(1, cores));
  return std::max(kShortestTimeoutS, steps * flops_per_step / slow_rate + asked_s);
}

std::int64_t memory_bound(std::int64_t machine_bytes, double limit_gib) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  const std::int64_t machine = machine_bytes - machine_bytes / 16;
  const auto limit = static_cast<std::int64_t>(std::min(limit_gib * kGib, 9e18));
  if (limit <= 0 || machine <= 0) {
    return std::max(limit, machine);
  }
  return std::min(limit, machine);
}

Plan make_plan(const Request& request, Machine machine, Diagnostics& problems) {
  Plan plan{.experiment = request.experiment->id,
            .stability = request.experiment->purpose == "Stability",
            .fresh = request.fresh,
            .force = request.force,
            .machine = std::move(machine)};
  Diagnostics found;
  Resolver resolver(plan.machine, found);
  std::set<std::string> keys;
  for (experiment::Point& point : experiment::expand(*request.experiment, request.given, found)) {
    const std::size_t before = found.size();
    experiment::validate(point, found);
    if (found.size() > before) {
      continue;
    }
    PlannedPoint planned{.point = std::move(point)};
    try {
      if (!resolver.resolve(planned)) {
        continue;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Internal) {
        throw;
      }
      found.push_back({"", error.message(), ""});
      continue;
    }
    planned.title = title_of(planned.point, request);
    planned.timeout_s = request.timeout_s.value_or(default_timeout_s(
        planned.point, planned.flops_per_step, planned.planned_steps, plan.machine.cores));
    if (keys.insert(planned.key).second) {
      plan.points.push_back(std::move(planned));
    }
  }
  plan.repeats = repeats_of(request, plan.stability, plan.points.size(), found);
  add_once(found, problems);
  return plan;
}

}  // namespace tunebench::campaign
