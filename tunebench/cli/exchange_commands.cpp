#include "tunebench/cli/exchange_commands.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/config/yaml.h"
#include "tunebench/exchange/bundle.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {
namespace {

/// A wrong map can reject a million rows: the first of them say enough.
constexpr std::size_t kMostTold = 1000;

/// Whether the options fit the kind of file; what they say of columns.
exchange::ColumnMap map_of(const config::CommandLine& line, Diagnostics& problems) {
  exchange::ColumnMap map;
  for (const config::GivenOption& given : line.options) {
    if (given.name == "map" || given.name == "metric") {
      exchange::read_columns(given.value, given.spelled, given.name == "metric", map, problems);
    } else if (given.name == "set") {
      exchange::read_constant(given.value, given.spelled, map, problems);
    }
  }
  if (const config::GivenOption* given = line.find("experiment")) {
    const experiment::Experiment* known = experiment::find_experiment(given->value);
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const experiment::Experiment& one : experiment::experiments()) {
        names.push_back(one.id);
      }
      problems.push_back({given->spelled,
                          fmt::format("there is no experiment '{}'", printable(given->value)),
                          did_you_mean(given->value, names)});
    } else {
      map.experiment = known->id;
    }
  }
  if (const config::GivenOption* given = line.find("separator")) {
    const std::string letter = given->value == "tab" || given->value == "\\t" ? "\t" : given->value;
    if (letter.size() != 1 || letter == "\"" || letter == "\n" || letter == "\r") {
      problems.push_back(
          {given->spelled,
           fmt::format("'{}' is not one character; tab is written tab", printable(given->value)),
           ""});
    } else {
      map.separator = letter[0];
    }
  }
  return map;
}

Json result_of(const exchange::Imported& result) {
  Json runs = Json::array();
  for (const std::string& run : result.runs) {
    runs.push_back(run);
  }
  Json rejected = Json::array();
  for (const exchange::Rejected& row : result.rejected) {
    rejected.push_back(Json::object({{"where", row.where}, {"reason", row.reason}}));
  }
  Json notes = Json::array();
  for (const std::string& note : result.notes) {
    notes.push_back(note);
  }
  return Json::object({{"schema", "tunebench.import/1"},
                       {"new", result.added},
                       {"known", result.known},
                       {"runs", std::move(runs)},
                       {"rejected", std::move(rejected)},
                       {"notes", std::move(notes)}});
}

void tell(const exchange::Imported& result, Console& console) {
  for (std::size_t i = 0; i < result.rejected.size() && i < kMostTold; ++i) {
    const exchange::Rejected& row = result.rejected[i];
    console.err << fmt::format("tunebench: {}: {}\n", printable(row.where),
                               mask_secrets(printable(row.reason)));
  }
  if (result.rejected.size() > kMostTold) {
    console.err << fmt::format("... and {} more\n", result.rejected.size() - kMostTold);
  }
  print_notes(console, result.notes);
}

/// As ado does, from where the command is typed; else from where the YAML file lies.
std::filesystem::path place_of(const std::filesystem::path& csv,
                               const std::filesystem::path& yaml) {
  return is_there(csv) || csv.is_absolute() ? csv : yaml.parent_path() / csv;
}

exchange::CopyFrom copy_of(const plans::StoreImport& import, const std::filesystem::path& yaml) {
  exchange::CopyFrom copy;
  copy.file = place_of(import.path, yaml);
  copy.identifier_column = import.identifier_column;
  copy.generator = import.generator;
  copy.inputs = import.input_columns;
  for (const plans::ImportedExperiment& one : import.experiments) {
    copy.experiments.push_back({.experiment = one.experiment,
                                .actuator = one.actuator,
                                .figures = one.measured,
                                .inputs = one.inputs});
  }
  return copy;
}

/// The rows of the CSV files that a sample store's YAML copies from.
exchange::ForeignRecords read_sample_store(const std::filesystem::path& file,
                                           const exchange::ColumnMap& map, Diagnostics& problems) {
  const std::vector<config::YamlDocument> documents = config::read_yaml(file.string(), problems);
  plans::PlanDocument document;
  if (problems.empty()) {
    document = plans::read_documents(documents, run_options(), problems);
  }
  exchange::ForeignRecords all;
  if (!problems.empty()) {
    return all;
  }
  if (document.imports.empty()) {
    throw Error(ErrorCode::InvalidInput,
                display_path(file) +
                    ": this is no sample store with a copyFrom; plans are for "
                    "tunebench run");
  }
  for (const plans::StoreImport& one : document.imports) {
    exchange::ForeignRecords read =
        with_context(one.where, [&] { return exchange::read_copy(copy_of(one, file), map); });
    std::ranges::move(read.records, std::back_inserter(all.records));
    std::ranges::move(read.rejected, std::back_inserter(all.rejected));
    std::ranges::move(read.notes, std::back_inserter(all.notes));
  }
  return all;
}

exchange::ForeignRecords read_foreign(exchange::FileKind kind, const std::filesystem::path& file,
                                      const exchange::ColumnMap& map, Diagnostics& problems) {
  switch (kind) {
    case exchange::FileKind::ForeignDatabase:
      return exchange::read_ado_store(file, map);
    case exchange::FileKind::Yaml:
      return read_sample_store(file, map, problems);
    default:
      return exchange::read_csv(file, map);
  }
}

exchange::Imported import_any(const Invocation& invocation, const std::filesystem::path& file,
                              const exchange::ColumnMap& map, Diagnostics& problems) {
  const exchange::FileKind kind = exchange::kind_of(file);
  const bool skip_bad = invocation.line.has("skip_bad");
  const std::string location = store::default_store_location(invocation.line.value("store"));
  if (kind == exchange::FileKind::OwnStore) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{0} is a store of tunebench: tunebench export --store {0} --bundle "
                            "x.tar.gz makes a file that can be imported",
                            display_path(file)));
  }
  if (kind == exchange::FileKind::Bundle) {
    for (const char* other : {"map", "metric", "set", "experiment", "separator"}) {
      if (const config::GivenOption* given = invocation.line.find(other)) {
        throw Error(ErrorCode::InvalidInput, given->spelled + " has no meaning for a bundle");
      }
    }
    const std::unique_ptr<store::Store> store =
        store::open_store(location, store::OpenMode::Create);
    return exchange::import_bundle(*store, file, store::folder_of_store(location) / "logs",
                                   skip_bad);
  }
  exchange::ForeignRecords foreign = read_foreign(kind, file, map, problems);
  if (!problems.empty()) {
    return {};
  }
  const std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::Create);
  return exchange::keep(*store, std::move(foreign), typed_command(invocation.words), skip_bad);
}

int import_file(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  const exchange::ColumnMap map = map_of(invocation.line, problems);
  if (!problems.empty()) {
    print_problems(console, problems);
    console.err << "see: tunebench import --help, tunebench experiments, tunebench inputs, "
                   "tunebench metrics\n";
    return kUsage;
  }
  const std::filesystem::path file = invocation.line.arguments[0];
  const exchange::Imported result = import_any(invocation, file, map, problems);
  if (!problems.empty()) {
    print_problems(console, problems);
    return kUsage;
  }
  tell(result, console);
  if (result.refused) {
    console.err << fmt::format(
        "{} are wrong. Nothing was imported; --skip-bad takes the "
        "others\n",
        result.rejected.size());
    if (invocation.json()) {
      write_result(console, result_of(result).dump(2) + "\n");
    }
    return kUsage;
  }
  std::string text = fmt::format("{} new, {} known", result.added, result.known);
  if (!result.rejected.empty()) {
    text += fmt::format(", {} left out", result.rejected.size());
  }
  if (!result.runs.empty()) {
    text += ": " + join(result.runs, ", ");
  }
  write_result(console, (invocation.json() ? result_of(result).dump(2) : text) + "\n");
  return kOk;
}

}  // namespace

int export_bundle(const Invocation& invocation, Console& console) {
  for (const char* other : {"format", "output", "aggregate", "price"}) {
    if (const config::GivenOption* given = invocation.line.find(other)) {
      throw Error(ErrorCode::InvalidInput, given->spelled + " has no meaning for a bundle");
    }
  }
  const std::filesystem::path file = invocation.line.value("bundle");
  const std::unique_ptr<store::Store> store = store::open_store(
      store::default_store_location(invocation.line.value("store")), store::OpenMode::ReadOnly);
  const exchange::BundleContent content =
      exchange::write_bundle(*store, invocation.line.arguments, file);
  if (content.missing_logs > 0) {
    console.err << fmt::format("{} logs are not there any more\n", content.missing_logs);
  }
  write_result(console, invocation.json() ? Json::object({{"schema", "tunebench.bundle/1"},
                                                          {"file", display_path(file)},
                                                          {"runs", content.runs},
                                                          {"measurements", content.records},
                                                          {"logs", content.logs},
                                                          {"missing_logs", content.missing_logs}})
                                                    .dump(2) +
                                                "\n"
                                          : fmt::format("{}: {} runs, {} measurements, {} logs\n",
                                                        display_path(file), content.runs,
                                                        content.records, content.logs));
  return kOk;
}

Command import_command() {
  return {
      {.name = "import",
       .summary = "take in measurements: a bundle, CSV, or a sample store of ado",
       .details = "What the file is shows by its content. The same file again adds nothing. Rows "
                  "that are wrong are told, each with its reason; then nothing is imported, unless "
                  "--skip-bad is given. CSV that tunebench or ado exported needs no map.",
       .arguments =
           {{"FILE",
             "a bundle (.tar.gz, .tar.zst), CSV, ado's SQLite file or a sample store's YAML"}},
       .options =
           {{.name = "map",
             .value_name = "COLUMN=NAME,...",
             .help = "what columns hold: an input, a metric, status, reason, started_at, "
                     "experiment, repeat or attempt; in ado's files: its properties",
             .repeatable = true},
            {.name = "metric",
             .value_name = "COLUMN=METRIC,...",
             .help = "the same for metrics; an empty METRIC leaves the column out. Units are taken "
                     "as they are",
             .repeatable = true},
            {.name = "set",
             .value_name = "INPUT=VALUE",
             .help = "an input that is the same in all rows",
             .repeatable = true},
            {.name = "experiment",
             .value_name = "ID",
             .help = "of all rows that do not say theirs"},
            {.name = "separator",
             .value_name = "LETTER",
             .help = "between the cells of a CSV file: , (default), ; or tab"},
            {.name = "skip_bad",
             .takes_value = false,
             .help = "import the other rows when some are wrong"},
            store_option(),
            json_option()},
       .examples = {"tunebench import all.tar.gz", "tunebench import ado.db",
                    "tunebench import old.csv --experiment finetune_full_benchmark --map "
                    "model=model_name,gpus=number_gpus,length=model_max_length,batch=batch_size "
                    "--metric tps=dataset_tokens_per_second"}},
      import_file};
}

}  // namespace tunebench::cli
