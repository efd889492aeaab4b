#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/request.h"
#include "tunebench/config/command_line.h"
#include "tunebench/config/yaml.h"

namespace tunebench::plans {

/// An experiment in an imported file: names and the columns that hold them.
struct ImportedExperiment {
  std::string experiment;
  std::string actuator;  ///< "replay" when the file does not say
  std::vector<std::pair<std::string, std::string>> measured = {};
  std::vector<std::pair<std::string, std::string>> inputs = {};
};

/// What a sample store of the reference system is to be filled with.
struct StoreImport {
  std::string path = {};  ///< of a CSV file
  std::string identifier_column = {};
  std::string generator = {};
  std::vector<std::pair<std::string, std::string>> input_columns = {};
  std::vector<ImportedExperiment> experiments = {};
  std::string where = {};
};

/// What plan files say, be they ours or of the reference system: the options and inputs of `run`
/// and what has no option.
struct PlanDocument {
  std::vector<config::GivenOption> options = {};  ///< `spelled` is the place in the file
  std::vector<experiment::GivenValues> inputs = {};
  std::vector<space::ExperimentChoice> experiments = {};
  std::vector<space::RuleText> rules = {};
  campaign::SearchRequest search = {};
  campaign::StopRequest stop = {};
  std::optional<campaign::CompareRequest> compare = {};
  std::vector<campaign::GateRequest> fail_if = {};
  bool keep_invalid = false;              ///< Request::keep_invalid
  std::vector<std::string> command = {};  ///< words of the program of --trainer command
  std::vector<StoreImport> imports = {};
  std::vector<std::string> notes = {};  ///< what was read and changes nothing, for the user
};

/// Reads a plan file: docs/file-formats.md. `options` are those of `run`; each is a key. Every
/// mistake is told with file:line:column and the nearest word.
PlanDocument read_plan(const config::YamlDocument& document,
                       const std::vector<config::OptionSpec>& options, Diagnostics& problems);

/// Reads documents given together: one plan of ours, or a space of the reference system with its
/// operation, actuator configuration and sample store in any order (docs/ado.md). What each is
/// shows by its keys.
PlanDocument read_documents(const std::vector<config::YamlDocument>& documents,
                            const std::vector<config::OptionSpec>& options, Diagnostics& problems);

/// The file that means the same: read_plan of its text is the document again, but for the places.
std::string plan_text(const PlanDocument& document);

/// A JSON Schema (draft-07) of plan files, for editors: names, domains, defaults and meanings from
/// the tables of options, inputs, metrics and search methods.
Json plan_schema(const std::vector<config::OptionSpec>& options);

/// Adds what the documents say to a command line and a request: an option or input given there
/// wins over the same one of the file, rules add up.
config::CommandLine with_options(const config::CommandLine& line, const PlanDocument& document);
void apply(const PlanDocument& document, campaign::Request& request);
/// The other way round: what a request and its options say, as a document.
PlanDocument document_of(const campaign::Request& request, const config::CommandLine& line,
                         const std::vector<config::OptionSpec>& options);

/// The options of `run` that are keys of a plan: not those about this one call.
std::vector<config::OptionSpec> plan_options(const std::vector<config::OptionSpec>& run_options);

/// A parameter of a search method.
struct SearchParameter {
  std::string name;
  std::string type;  ///< "integer", "boolean", "inputs", "points", "numbers", "word"
  std::int64_t lowest = 0;
  std::string help;
  std::vector<std::string> words = {};
};
struct SearchMethod {
  std::string name;
  std::string help;
  std::vector<std::string> parameters;
};
const std::vector<SearchMethod>& search_methods();
const std::vector<SearchParameter>& search_parameters();

/// The values of an input as a plan writes them: a value, a list, "1..8", or a mapping of from, to
/// and one of step, factor, count. Mistakes are told.
std::vector<Json> input_values(const config::SourceText& source,
                               const experiment::Property& property, const config::YamlNode& node,
                               Diagnostics& problems);

/// Reads the inputs of a mapping in its order; unknown ones are told with the nearest name.
std::vector<experiment::GivenValues> read_inputs(const config::SourceText& source,
                                                 const config::YamlNode& node,
                                                 Diagnostics& problems);

/// A rule whose mistakes are marked in the file.
space::RuleText rule_of(const config::YamlDocument& document, const config::YamlNode& node);

}  // namespace tunebench::plans
