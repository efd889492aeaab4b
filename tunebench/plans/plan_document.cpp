#include "tunebench/plans/plan_document.h"

#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/config/yaml_reader.h"
#include "tunebench/experiment/property.h"
#include "tunebench/plans/internal/plan_sections.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;

/// Options about one call and not about what is measured.
constexpr std::string_view kNoKeys[] = {"json",
                                        "quiet",
                                        "where",
                                        "save_plan",
                                        "limit",
                                        "schema",
                                        "search",
                                        "optimize",
                                        "max_points",
                                        "search_seed",
                                        "stop_time",
                                        "stop_cost",
                                        "stop_no_improvement",
                                        "stop_interval"};

void read_option(const config::OptionSpec& option, MappingReader& reader, PlanDocument& document) {
  const YamlNode* value = reader.take(option.name);
  if (value == nullptr || value->is_null()) {
    return;
  }
  const std::string where = reader.source().where(value->place);
  if (!option.takes_value) {
    if (reader.boolean(option.name).value_or(false)) {
      document.options.push_back({option.name, where, ""});
    }
  } else if (!value->is_scalar()) {
    reader.wrong_type(option.name, *value, "one value");
  } else {
    document.options.push_back({option.name, where, value->text});
  }
}

void read_experiments(const config::YamlDocument& file, MappingReader& reader,
                      PlanDocument& document) {
  std::vector<std::string> names;
  for (const experiment::Experiment& one : experiment::experiments()) {
    names.push_back(one.id);
  }
  for (const YamlNode* item : reader.list("experiments")) {
    MappingReader one(*file.source, *item, "experiments", reader.problems());
    const YamlNode* id = one.require("experiment");
    const YamlNode* inputs = one.take("inputs");
    one.finish();
    space::ExperimentChoice choice;
    if (inputs != nullptr) {
      choice.given = read_inputs(*file.source, *inputs, reader.problems());
    }
    if (id == nullptr) {
      continue;
    }
    choice.experiment = experiment::find_experiment(id->text);
    if (choice.experiment == nullptr) {
      one.wrong(*id, fmt::format("unknown experiment '{}'", excerpt(id->text)),
                did_you_mean(id->text, names));
    } else {
      document.experiments.push_back(std::move(choice));
    }
  }
}

bool same_input(const experiment::GivenValues& given, std::string_view name) {
  return given.property == name;
}

}  // namespace

std::vector<config::OptionSpec> plan_options(const std::vector<config::OptionSpec>& run_options) {
  std::vector<config::OptionSpec> keys;
  for (const config::OptionSpec& option : run_options) {
    if (std::ranges::find(kNoKeys, option.name) == std::end(kNoKeys) &&
        experiment::find_property(option.name) == nullptr) {
      keys.push_back(option);
    }
  }
  return keys;
}

space::RuleText rule_of(const config::YamlDocument& document, const YamlNode& node) {
  const std::shared_ptr<const config::SourceText> source = document.source;
  const config::Place place = node.place;
  const bool quoted = node.quoted;
  const std::string text = node.text;
  // Escapes and folded lines would move the column; a rule on one line has none.
  const bool one_line = text.find('\n') == std::string::npos;
  return {.text = text,
          .where = source->where(place),
          .place = [source, place, quoted, text, one_line](const expression::Mistake& mistake) {
            config::Place at = place;
            std::string said = mistake.text;
            if (one_line) {
              at.column += static_cast<int>(mistake.offset) + (quoted ? 1 : 0);
            } else {
              said += " at " + expression::place_in(text, mistake.offset);
            }
            std::size_t width = 0;
            while (mistake.offset + width < text.size() &&
                   (std::isalnum(static_cast<unsigned char>(text[mistake.offset + width])) != 0 ||
                    text[mistake.offset + width] == '_')) {
              ++width;
            }
            return one_line ? source->marked(at, width, said, mistake.hint)
                            : source->mistake(at, said, mistake.hint);
          }};
}

PlanDocument read_plan(const config::YamlDocument& file,
                       const std::vector<config::OptionSpec>& options, Diagnostics& problems) {
  PlanDocument document;
  MappingReader reader(*file.source, file.root, "plan", problems);
  reader.text("description");
  document.keep_invalid = reader.boolean("keep_invalid").value_or(false);
  for (const YamlNode* word : reader.list("command")) {
    if (word->is_scalar()) {
      document.command.push_back(word->text);
    } else {
      reader.wrong_type("command", *word, "a word of the program");
    }
  }
  for (const config::OptionSpec& option : plan_options(options)) {
    read_option(option, reader, document);
  }
  if (const YamlNode* inputs = reader.take("inputs")) {
    document.inputs = read_inputs(*file.source, *inputs, problems);
  }
  read_experiments(file, reader, document);
  for (const YamlNode* rule : reader.texts("where")) {
    document.rules.push_back(rule_of(file, *rule));
  }
  read_search(file, reader, document);
  read_stop(file, reader, document);
  read_compare(file, reader, document);
  reader.finish();
  if (!document.experiments.empty() && file.root.find("experiment") != nullptr) {
    problems.push_back(file.source->mistake(file.root.find("experiment")->place,
                                            "'experiment' and 'experiments' are both given",
                                            "keep one"));
  }
  return document;
}

config::CommandLine with_options(const config::CommandLine& line, const PlanDocument& document) {
  config::CommandLine merged = line;
  for (const config::GivenOption& option : document.options) {
    if (!line.has(option.name)) {
      merged.options.push_back(option);
    }
  }
  if (merged.words_after.empty()) {
    merged.words_after = document.command;
  }
  return merged;
}

namespace {

/// What the command line says wins.
void merge_search(const campaign::SearchRequest& document, campaign::SearchRequest& line) {
  campaign::SearchRequest merged = document;
  if (!line.where.empty()) {
    merged.parameters = line.method == merged.method ? merged.parameters : Json::object();
    merged.method = line.method;
    merged.where = line.where;
  }
  for (const auto& [name, value] : line.parameters.as_object()) {
    merged.parameters.set(name, value);
  }
  if (!line.objectives.empty()) {
    merged.objectives = line.objectives;
  }
  line = std::move(merged);
}

void merge_stop(const campaign::StopRequest& document, campaign::StopRequest& line) {
  campaign::StopRequest merged = document;
  const auto win = [](auto& mine, const auto& of_line) { mine = of_line ? of_line : mine; };
  win(merged.points, line.points);
  win(merged.time_s, line.time_s);
  win(merged.cost, line.cost);
  win(merged.no_improvement, line.no_improvement);
  win(merged.interval, line.interval);
  merged.where = line.where.empty() ? document.where : line.where;
  line = std::move(merged);
}

}  // namespace

void apply(const PlanDocument& document, campaign::Request& request) {
  std::vector<experiment::GivenValues> given;
  const std::vector<experiment::GivenValues> of_line = std::move(request.given);
  const auto in_line = [&](const std::string& name) {
    return std::ranges::find(of_line, name, &experiment::GivenValues::property);
  };
  for (const experiment::GivenValues& input : document.inputs) {
    const auto found = in_line(input.property);
    given.push_back(found == of_line.end() ? input : *found);
  }
  for (const experiment::GivenValues& input : of_line) {
    if (std::ranges::none_of(document.inputs, [&](const experiment::GivenValues& one) {
          return same_input(one, input.property);
        })) {
      given.push_back(input);
    }
  }
  request.given = std::move(given);
  request.experiments = document.experiments;
  for (space::ExperimentChoice& choice : request.experiments) {
    std::erase_if(choice.given, [&](const experiment::GivenValues& own) {
      return in_line(own.property) != of_line.end();
    });
  }
  request.rules.insert(request.rules.begin(), document.rules.begin(), document.rules.end());
  merge_search(document.search, request.search);
  merge_stop(document.stop, request.stop);
  request.compare = document.compare;
  request.fail_if = document.fail_if;
  request.keep_invalid = document.keep_invalid;
}

PlanDocument document_of(const campaign::Request& request, const config::CommandLine& line,
                         const std::vector<config::OptionSpec>& options) {
  PlanDocument document{.inputs = request.given,
                        .experiments = request.experiments,
                        .rules = request.rules,
                        .search = request.search,
                        .stop = request.stop,
                        .compare = request.compare,
                        .fail_if = request.fail_if,
                        .keep_invalid = request.keep_invalid,
                        .command = line.words_after};
  for (const config::OptionSpec& option : plan_options(options)) {
    const config::GivenOption* given = line.find(option.name);
    if (given != nullptr && (option.name != "experiment" || request.experiments.empty())) {
      document.options.push_back(*given);
    }
  }
  return document;
}

}  // namespace tunebench::plans
