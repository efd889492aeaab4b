#include "tunebench/exchange/internal/ado_results.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/exchange/internal/targets.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::exchange {
namespace {

constexpr std::string_view kActuator = "SFTTrainer";

/// Where "-name." of a property of ours begins next.
std::size_t next_parameter(std::string_view text, std::size_t from) {
  std::size_t nearest = std::string_view::npos;
  for (const experiment::Property& property : experiment::properties()) {
    nearest = std::min(nearest, text.find("-" + property.name + ".", from));
  }
  return nearest;
}

/// The experiment of ours that the text begins with.
std::string_view known_beginning(std::string_view text) {
  std::string_view longest;
  for (const experiment::Experiment& one : experiment::experiments()) {
    const bool ends =
        text.size() == one.id.size() ||
        (text.size() > one.id.size() && (text[one.id.size()] == '-' || text[one.id.size()] == '@'));
    if (text.starts_with(one.id) && ends && one.id.size() > longest.size()) {
      longest = one.id;
    }
  }
  return longest;
}

/// What ends in is_valid 0 there without a run, by its own rules and in its own words.
std::string broken_rule(const std::map<std::string, std::string>& inputs) {
  const auto number = [&](const char* name, double otherwise) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? otherwise : parse_real(found->second).value_or(otherwise);
  };
  const auto divides = [](double a, double b) {
    return b >= 1 && static_cast<std::int64_t>(a) % static_cast<std::int64_t>(b) == 0;
  };
  const double gpus = number("number_gpus", 0);
  const double batch = number("batch_size", 0);
  const double nodes = number("number_nodes", 1);
  const double experts = number("fast_moe", 0);
  if (!divides(batch, std::max(1.0, gpus))) {
    return fmt::format("batch_size is {} but number_gpus is {}", batch, gpus);
  }
  if (!divides(std::max(1.0, gpus), nodes)) {
    return fmt::format("number_gpus is {} but number_nodes is {}", gpus, nodes);
  }
  if (experts > 0 && !divides(gpus, experts)) {
    return fmt::format("number_gpus is {} but fast_moe is {}", gpus, experts);
  }
  return "";
}

/// is_valid 0 keeps no reason: the point breaks a rule, or it was started and had too little
/// memory.
void set_invalid(const std::map<std::string, std::string>& inputs, ForeignRow& row) {
  const std::string rule = broken_rule(inputs);
  const auto value = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? 0.0 : parse_real(found->second).value_or(0);
  };
  if (!rule.empty()) {
    row.status = record::Outcome::InvalidConfig;
    row.reason = rule;
  } else if (value("fast_moe") > 0 || value("number_gpus") < 1) {
    row.status = record::Outcome::InvalidConfig;
    row.reason =
        "is_valid is 0, which does not tell whether it could not be run or ran out of memory";
  } else {
    row.status = record::Outcome::OomGpu;
    row.reason = "is_valid is 0 and no rule is broken: it ran out of GPU memory";
  }
}

void set_failure(const std::string& reason, ForeignRow& row) {
  row.status = reason.starts_with("Externally defined experiments cannot be applied")
                   ? record::Outcome::Skipped
                   : record::Outcome::Crashed;
  row.reason = std::string(trim(reason));
}

/// Numbers that it writes when it has none.
bool is_filler(std::string_view name, std::string_view text) {
  return name.starts_with("train_") && parse_real(trim(text)) == -1.0;
}

class AdoRow {
 public:
  AdoRow(const AdoResult& result, const ColumnMap& map, ForeignRows& rows)
      : result_(result), map_(map), rows_(rows) {}

  void add() {
    const bool is_its_own = result_.experiment.actuator == kActuator ||
                            experiment::find_experiment(result_.experiment.experiment) != nullptr;
    row_.where = result_.where;
    row_.experiment = map_.experiment.empty() ? result_.experiment.experiment : map_.experiment;
    row_.started_at = result_.started_at;
    row_.environment = result_.environment;
    row_.source =
        result_.experiment.actuator.empty() ? "ado" : "ado " + result_.experiment.actuator;
    row_.fill_defaults = is_its_own;
    row_.id_of_values = true;
    // An entity's value wins over a parameter, a parameter over the default.
    add_inputs(map_.constants);
    add_inputs(result_.experiment.parameters);
    add_inputs(result_.inputs);
    check_required();
    add_figures();
    if (!problems_.empty()) {
      rows_.reject(result_.where, join(problems_, "; "));
      return;
    }
    rows_.add(row_);
  }

 private:
  void add_inputs(const NamedTexts& inputs) {
    for (const auto& [name, text] : inputs) {
      const std::string* mapped = map_.find(name);
      const std::string target = mapped == nullptr ? name : *mapped;
      if (target.empty()) {
        continue;
      }
      if (kind_of_target(target) != TargetKind::Input) {
        problems_.push_back(
            fmt::format("property '{}' is no input of tunebench; --map {}=INPUT "
                        "says which it is",
                        excerpt(name), excerpt(name)));
        continue;
      }
      row_.inputs.emplace_back(target, text);
      by_name_[target] = text;
    }
  }

  void check_required() {
    for (const std::string& name : needed_inputs()) {
      if (problems_.empty() && !by_name_.contains(name)) {
        problems_.push_back(fmt::format("it has no {}; --map or --set gives one", name));
      }
    }
  }

  void add_figures() {
    bool any = false;
    for (const auto& [name, text] : result_.figures) {
      const std::string* mapped = map_.find(name);
      const std::string target = mapped == nullptr ? name : *mapped;
      if (says_nothing(text) || is_filler(name, text)) {
        continue;
      }
      if (target == "is_valid") {
        const bool is_valid = lower_ascii(trim(text)) != "false" && parse_real(trim(text)) != 0.0;
        row_.may_be_bare = is_valid;
        if (!is_valid) {
          set_invalid(by_name_, row_);
        }
      } else if (kind_of_target(target) == TargetKind::Figure) {
        row_.figures.emplace_back(target, text);
        any = true;
        note_planned(target);
      } else if (!target.empty()) {
        rows_.note(
            fmt::format("'{}' is not taken: no metric of that name; --metric {}=METRIC "
                        "takes it",
                        excerpt(name), excerpt(name)));
      }
    }
    if (!result_.reason.empty() && !any) {
      set_failure(result_.reason, row_);
    }
  }

  void note_planned(const std::string& target) {
    const auto stop = by_name_.find("stop_after_seconds");
    const bool is_rate = target == "train_samples_per_second" || target == "train_steps_per_second";
    if (is_rate && stop != by_name_.end() && parse_real(stop->second).value_or(-1) > 0) {
      rows_.note(target +
                 " of runs with stop_after_seconds counts what was planned, not what was "
                 "trained");
    }
  }

  const AdoResult& result_;
  const ColumnMap& map_;
  ForeignRows& rows_;
  ForeignRow row_;
  std::map<std::string, std::string> by_name_;
  std::vector<std::string> problems_;
};

}  // namespace

AdoReference parse_ado_reference(std::string_view text) {
  AdoReference reference;
  text = trim(text);
  if (known_beginning(text).empty()) {
    const std::size_t dot = text.find('.');
    if (dot != std::string_view::npos && dot < next_parameter(text, 0)) {
      reference.actuator = text.substr(0, dot);
      text.remove_prefix(dot + 1);
    }
  }
  std::size_t place = known_beginning(text).size();
  place = std::min(next_parameter(text, place), text.size());
  const std::string_view name = text.substr(0, place);
  reference.experiment = name.substr(0, name.find('@'));
  while (place < text.size()) {
    const std::size_t dot = text.find('.', place);
    const std::size_t next = std::min(next_parameter(text, dot), text.size());
    reference.parameters.emplace_back(text.substr(place + 1, dot - place - 1),
                                      text.substr(dot + 1, next - dot - 1));
    place = next;
  }
  return reference;
}

void add_ado_result(const AdoResult& result, const ColumnMap& map, ForeignRows& rows) {
  AdoRow(result, map, rows).add();
}

}  // namespace tunebench::exchange
