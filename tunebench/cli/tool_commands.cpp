#include <algorithm>
#include <memory>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/hub/cache.h"
#include "tunebench/hub/environment.h"
#include "tunebench/model/gguf.h"
#include "tunebench/model/model_source.h"
#include "tunebench/trainer/simulated_trainer.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

namespace {

config::OptionSpec tokenizer_option() {
  return {.name = "tokenizer",
          .aliases = {"-m", "--model"},
          .value_name = "DIR|FILE|org/name|PRESET",
          .help =
              "whose tokens are counted: a model folder, org/name of the Hugging Face cache, a "
              "tokenizer.json or a preset; "
              "default: one token per byte, as presets do"};
}

std::unique_ptr<data::Tokenizer> tokenizer_of(const config::CommandLine& line) {
  const std::string name = line.value("tokenizer");
  if (name.empty()) {
    return data::make_byte_tokenizer();
  }
  const bool preset = std::any_of(model::presets().begin(), model::presets().end(),
                                  [&](const model::Preset& one) { return one.name == name; });
  if (preset) {
    return data::make_byte_tokenizer();
  }
  std::filesystem::path path(name);
  const std::optional<hub::RepoId> model = hub::parse_repo_id(name);
  if (model && !is_there(path)) {
    const auto folder = hub::cached_snapshot(hub::hub_cache(), *model);
    // The failure of the other names the command that gets the model.
    path = folder ? *folder : model::resolve_model(name).folder.value_or(path);
  }
  std::error_code ignored;
  return data::load_tokenizer(std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json"
                                                                           : path);
}

void stop_at(const Diagnostics& problems) {
  if (!problems.empty()) {
    throw Error(ErrorCode::InvalidInput, problems.front().line());
  }
}

int import_model(const Invocation& invocation, Console& console) {
  const std::filesystem::path file = invocation.line.arguments[0];
  const std::filesystem::path folder = invocation.line.arguments[1];
  const model::ImportSummary summary = model::import_gguf(file, folder);
  if (invocation.json()) {
    write_result(console, Json::object({{"folder", display_path(folder)},
                                        {"tensors", summary.tensors},
                                        {"parameters", summary.parameters},
                                        {"stored_dtype", summary.stored_dtype},
                                        {"vocabulary", summary.vocabulary}})
                                  .dump(2) +
                              "\n");
    return kOk;
  }
  write_result(console, fmt::format("{}: {} tensors, {} parameters in {}, vocabulary of {}\n"
                                    "next: tunebench run --model {} --length 512 --batch 1\n",
                                    display_path(folder), summary.tensors,
                                    with_thousands(summary.parameters), summary.stored_dtype,
                                    with_thousands(summary.vocabulary),
                                    config::shell_line(std::vector<std::string>{folder.string()})));
  return kOk;
}

/// The dataset that the words describe: a known id, with what the options change.
data::SyntheticSpec synthetic_spec(const config::CommandLine& line) {
  data::SyntheticSpec spec;
  if (const std::optional<std::string> id = line.argument(0)) {
    const std::vector<data::SyntheticSpec>& known = data::synthetic_datasets();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.id == *id; });
    if (found == known.end()) {
      std::vector<std::string> ids;
      for (const data::SyntheticSpec& one : known) {
        ids.push_back(one.id);
      }
      const std::string hint = did_you_mean(*id, ids);
      throw Error(ErrorCode::NotFound,
                  fmt::format("no synthetic dataset is called '{}'{}", printable(*id),
                              hint.empty() ? "; see: tunebench datasets" : " - " + hint));
    }
    spec = *found;
  }
  Diagnostics problems;
  spec.entries = integer_option(line, "entries", spec.entries, 1, problems);
  spec.min_tokens = integer_option(line, "min_tokens", spec.min_tokens, 0, problems);
  spec.seed = static_cast<std::uint64_t>(
      integer_option(line, "seed", static_cast<std::int64_t>(spec.seed), 0, problems));
  stop_at(problems);
  return spec;
}

int make_dataset(const Invocation& invocation, Console& console) {
  const std::string file = invocation.line.value("output");
  if (file.empty()) {
    throw Error(ErrorCode::InvalidInput, "-o FILE is missing: where to write the dataset");
  }
  const data::SyntheticSpec spec = synthetic_spec(invocation.line);
  const std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of(invocation.line);
  const std::int64_t bytes = data::write_synthetic_dataset(spec, *tokenizer, file);
  const std::string text = invocation.json()
                               ? Json::object({{"file", printable(file)},
                                               {"entries", spec.entries},
                                               {"min_tokens", spec.min_tokens},
                                               {"seed", static_cast<std::int64_t>(spec.seed)},
                                               {"bytes", bytes}})
                                         .dump(2) +
                                     "\n"
                               : fmt::format("{}: {} entries, {}\n", printable(file),
                                             with_thousands(spec.entries), format_bytes(bytes));
  write_result(console, text);
  return kOk;
}

int count_dataset(const Invocation& invocation, Console& console) {
  const std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of(invocation.line);
  const std::unique_ptr<data::Dataset> dataset =
      data::resolve_dataset(invocation.line.arguments[0],
                            invocation.line.value("dataset_text_field", "output"), *tokenizer);
  std::int64_t total = 0;
  std::int64_t shortest_entry = 0;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    const auto tokens = static_cast<std::int64_t>(tokenizer->encode(dataset->text(i), true).size());
    total += tokens;
    shortest_entry = i == 0 ? tokens : std::min(shortest_entry, tokens);
    longest = std::max(longest, tokens);
  }
  const double mean = static_cast<double>(total) / static_cast<double>(dataset->size());
  const std::string text =
      invocation.json()
          ? Json::object({{"dataset", dataset->name()},
                          {"tokenizer", tokenizer->name()},
                          {"entries", dataset->size()},
                          {"tokens", total},
                          {"tokens_min", shortest_entry},
                          {"tokens_max", longest},
                          {"tokens_mean", mean}})
                    .dump(2) +
                "\n"
          : fmt::format("{}: {} entries, {} tokens ({} to {}, mean {:.1f}), tokenizer {}\n",
                        printable(dataset->name()), with_thousands(dataset->size()),
                        with_thousands(total), with_thousands(shortest_entry),
                        with_thousands(longest), mean, printable(tokenizer->name()));
  write_result(console, text);
  return kOk;
}

int tokenize(const Invocation& invocation, Console& console) {
  const std::optional<std::string> words = invocation.line.argument(0);
  const config::GivenOption* file = invocation.line.find("file");
  if (words.has_value() == (file != nullptr)) {
    throw Error(ErrorCode::InvalidInput, "give either TEXT or --file FILE");
  }
  const std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of(invocation.line);
  const std::string text = words ? *words : read_file(file->value);
  const std::vector<std::int32_t> ids = tokenizer->encode(text, invocation.line.has("special"));
  if (invocation.json()) {
    Json list = Json::array();
    for (const std::int32_t id : ids) {
      list.push_back(static_cast<std::int64_t>(id));
    }
    write_result(console, Json::object({{"tokenizer", tokenizer->name()},
                                        {"count", static_cast<std::int64_t>(ids.size())},
                                        {"ids", std::move(list)}})
                                  .dump() +
                              "\n");
    return kOk;
  }
  std::string line;
  for (const std::int32_t id : ids) {
    line += (line.empty() ? "" : " ") + std::to_string(id);
  }
  write_result(console, line + "\n");
  return kOk;
}

int train(const Invocation& invocation, Console&) {
  return trainer::run_native_worker(invocation.line.arguments[0]);
}

int roof(const Invocation&, Console&) {
  return trainer::run_roof_worker();
}

int simulate(const Invocation& invocation, Console&) {
  return trainer::run_simulated_worker(invocation.line.arguments[0], invocation.line.arguments[1]);
}

}  // namespace

Command models_import_command() {
  return {{.name = "models import",
           .summary = "turn a GGUF file into a Hugging Face folder",
           .arguments = {{"FILE", "GGUF file of the Llama family"},
                         {"DIR", "folder to make; it appears complete or not at all"}},
           .options = {json_option()},
           .examples = {"tunebench models import SmolLM2-135M.gguf smollm2"}},
          import_model};
}

Command datasets_make_command() {
  return {{.name = "datasets make",
           .summary = "write a synthetic dataset as JSON lines; same options, same bytes",
           .arguments = {{"ID", "one of `tunebench datasets`, whose numbers the options change",
                          false}},
           .options = {{.name = "entries", .value_name = "N", .help = "how many; default 4096"},
                       {.name = "min_tokens",
                        .value_name = "N",
                        .help = "every entry has at least so many; default 16384; unit tokens"},
                       {.name = "seed", .value_name = "N", .help = "default 1"},
                       {.name = "output",
                        .aliases = {"-o"},
                        .value_name = "FILE",
                        .help = "file to write; required"},
                       tokenizer_option(),
                       json_option()},
           .examples = {"tunebench datasets make --entries 64 --min-tokens 1024 -o small.jsonl"}},
          make_dataset};
}

Command datasets_count_command() {
  return {{.name = "datasets count",
           .summary = "count the entries and tokens of a dataset",
           .arguments = {{"DATASET", "JSON lines file, or an id of `tunebench datasets`"}},
           .options = {{.name = "dataset_text_field",
                        .aliases = {"--field"},
                        .value_name = "NAME",
                        .help = "field that holds the text; default output"},
                       tokenizer_option(),
                       json_option()},
           .examples = {"tunebench datasets count FILE.jsonl --model DIR"}},
          count_dataset};
}

Command tokenize_command() {
  return {{.name = "tokenize",
           .summary = "show the token ids of a text",
           .arguments = {{"TEXT", "the text", false}},
           .options = {{.name = "file", .value_name = "FILE", .help = "file to read the text from"},
                       {.name = "special",
                        .takes_value = false,
                        .help = "add special tokens, as training does"},
                       tokenizer_option(),
                       json_option()},
           .examples = {"tunebench tokenize 'Hello world' --model DIR"}},
          tokenize};
}

Command train_command() {
  return {{.name = "train",
           .summary = "the trainer's own process; `tunebench run` starts it",
           .arguments = {{"JOB", "what to train, as JSON"}},
           .hidden = true},
          train};
}

Command roof_command() {
  return {{.name = "roof",
           .summary = "prints the GFLOP/s of this machine's matrix products; `tunebench run` asks",
           .hidden = true},
          roof};
}

Command simulate_command() {
  return {{.name = "simulate",
           .summary = "the simulated trainer's own process; `tunebench run` starts it",
           .arguments = {{"JOB", "what to train, as JSON"}, {"MODEL", "what to play, as JSON"}},
           .hidden = true},
          simulate};
}

}  // namespace tunebench::cli
