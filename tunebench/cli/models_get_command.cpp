#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <ostream>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/model_map_option.h"
#include "tunebench/hub/environment.h"
#include "tunebench/hub/fetch.h"
#include "tunebench/report/live_line.h"

namespace tunebench::cli {

namespace {

/// One model to fetch, or why there is nothing to fetch.
struct WantedModel {
  std::string name;  ///< as asked for
  std::optional<hub::RepoId> model;
  std::string note;  ///< a folder that needs no fetching
  std::string error;
};

bool is_folder_name(const std::string& source) {
  return source.starts_with('/') || source.starts_with('.') || source.starts_with('~');
}

WantedModel wanted_of(const std::string& name, const std::string& source) {
  WantedModel wanted{.name = name, .model = hub::parse_repo_id(source)};
  if (wanted.model) {
    return wanted;
  }
  std::error_code ignored;
  if (!is_folder_name(source)) {
    wanted.error = fmt::format(
        "'{}' is no name of a model on a hub; that is org/name or "
        "org/name@revision",
        printable(source));
  } else if (std::filesystem::is_directory(source, ignored)) {
    wanted.note = fmt::format("{}: is the folder {}; nothing to fetch", name, source);
  } else {
    wanted.note = fmt::format(
        "{}: is the folder {}, which is not on this machine and on no hub; "
        "left out",
        name, source);
  }
  return wanted;
}

/// What the words and the file ask for, each model once.
class WantedList {
 public:
  WantedList(const hub::ModelMap& map, std::string format)
      : map_(map), format_(std::move(format)) {}

  void add_word(const std::string& name) {
    const hub::ModelSources* sources = map_.find(name);
    if (sources != nullptr) {
      const bool vanilla = format_.empty() && !sources->vanilla.empty();
      const std::string& source = format_.empty() ? vanilla ? sources->vanilla : sources->gptq
                                                  : sources->in_format(format_);
      add_source(name, source);
      // Asked for by name, a folder that is elsewhere is no success.
      WantedModel& last = list_.back();
      if (!last.note.empty() && last.note.ends_with("left out")) {
        last.error = last.note;
      }
      return;
    }
    std::vector<std::string> names;
    for (const hub::ModelSources& one : map_.all()) {
      names.push_back(one.name);
    }
    const std::string hint = did_you_mean(name, names);
    WantedModel wanted = wanted_of(name, name);
    if (!wanted.model && !hint.empty()) {
      wanted.error = fmt::format("unknown model '{}'; {}", printable(name), hint);
    }
    add(std::move(wanted));
  }

  /// All sources of a name in a file.
  void add_entry(const hub::ModelSources& sources) {
    for (const std::string_view format : {hub::kVanilla, hub::kGptqQuantized}) {
      if (!sources.in_format(format).empty() && (format_.empty() || format == format_)) {
        add(wanted_of(sources.name, sources.in_format(format)));
      }
    }
  }

  [[nodiscard]] const std::vector<WantedModel>& list() const { return list_; }

 private:
  void add_source(const std::string& name, const std::string& source) {
    if (source.empty()) {
      add({.name = name,
           .model = std::nullopt,
           .note = "",
           .error =
               fmt::format("{} has no {} weights", name, format_.empty() ? "published" : format_)});
    } else {
      add(wanted_of(name, source));
    }
  }

  void add(WantedModel wanted) {
    const auto same = [&](const WantedModel& other) {
      return wanted.model && other.model && other.model->text() == wanted.model->text();
    };
    if (std::ranges::none_of(list_, same)) {
      list_.push_back(std::move(wanted));
    }
  }

  const hub::ModelMap& map_;
  std::string format_;
  std::vector<WantedModel> list_;
};

/// The progress of one model on standard error: a line that is rewritten on a terminal.
class FetchView {
 public:
  FetchView(std::string model, Console& console) : model_(std::move(model)), console_(console) {}

  void show(hub::FetchProgress& progress) {
    for (const std::string& note : progress.take_notes()) {
      clear();
      console_.err << "  " << mask_secrets(note) << "\n" << std::flush;
    }
    if (!console_.live || progress.bytes == 0) {
      return;
    }
    const double passed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    const std::int64_t done = progress.bytes_done;
    begin_ = begin_ < 0 ? done : begin_;
    const double rate = passed > 0 ? static_cast<double>(done - begin_) / passed : 0.0;
    const std::int64_t left = progress.bytes - done;
    std::string line =
        fmt::format("{}  {}/{} files  {} of {}", model_, progress.files_done.load(),
                    progress.files.load(), format_bytes(done), format_bytes(progress.bytes));
    if (rate > 0 && passed > 1) {
      line += fmt::format("  {}/s  {} left", format_bytes(static_cast<std::int64_t>(rate)),
                          format_duration(static_cast<double>(left) / rate));
    }
    console_.err << "\r\x1b[K" << line.substr(0, console_.width) << std::flush;
    live_ = true;
  }

  void clear() {
    if (live_) {
      console_.err << "\r\x1b[K";
      live_ = false;
    }
  }

 private:
  std::string model_;
  Console& console_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::int64_t begin_ = -1;
  bool live_ = false;
};

hub::FetchResult fetch_and_show(const hub::RepoId& model, const hub::FetchOptions& options,
                                Console& console) {
  hub::FetchProgress progress;
  FetchView view(model.text(), console);
  std::future<hub::FetchResult> result =
      std::async(std::launch::async, [&] { return hub::fetch_model(model, options, progress); });
  while (result.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    view.show(progress);
  }
  view.show(progress);
  view.clear();
  return result.get();
}

/// The command that uses what was fetched; the cache of another home is named first.
std::string next_command(const hub::RepoId& model, const std::string& home) {
  const std::string words = config::shell_line(std::vector<std::string>{
      "tunebench", "run", "--model", model.text(), "--length", "512", "--batch", "1"});
  return home.empty()
             ? words
             : "HF_HOME=" + config::shell_line(std::vector<std::string>{home}) + " " + words;
}

class Getting {
 public:
  Getting(hub::FetchOptions options, std::string home, Console& console)
      : options_(std::move(options)), home_(std::move(home)), console_(console) {}

  void get(const WantedModel& wanted) {
    Json row = Json::object({{"name", printable(wanted.name)},
                             {"model", wanted.model ? Json(wanted.model->name) : Json()}});
    std::string error = wanted.error;
    if (error.empty() && !wanted.note.empty()) {
      console_.err << "note: " << printable(wanted.note) << "\n";
      row.set("status", "folder");
    } else if (error.empty()) {
      error = fetch(*wanted.model, row);
    }
    if (!error.empty()) {
      ++failed_;
      console_.err << "tunebench: " << mask_secrets(error) << "\n";
      row.set("status", "failed").set("error", mask_secrets(error));
    } else {
      ++had_;
    }
    rows_.push_back(std::move(row));
  }

  int finish(bool json) {
    write_result(console_, json ? rows_.dump(2) + "\n" : text_);
    return failed_ == 0 ? kOk : had_ == 0 ? kUsage : kSomeFailed;
  }

 private:
  /// Returns what went wrong.
  std::string fetch(const hub::RepoId& model, Json& row) {
    try {
      const hub::FetchResult result = fetch_and_show(model, options_, console_);
      row.set("revision", result.commit)
          .set("folder", display_path(result.folder))
          .set("files", result.files)
          .set("bytes", result.bytes)
          .set("fetched_bytes", result.fetched_bytes)
          .set("status", result.fetched_bytes == 0 ? "cached" : "fetched");
      const std::string came =
          result.fetched_bytes == 0
              ? "were there already"
              : fmt::format("{} of it fetched", format_bytes(result.fetched_bytes));
      text_ += fmt::format("{}: {} files, {}, {}\nnext: {}\n", model.text(), result.files,
                           format_bytes(result.bytes), came, next_command(model, home_));
      return "";
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Internal) {
        throw;
      }
      return error.message();
    }
  }

  hub::FetchOptions options_;
  std::string home_;
  Console& console_;
  Json rows_ = Json::array();
  std::string text_;
  int failed_ = 0;
  int had_ = 0;
};

int get_models(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  Diagnostics problems;
  const hub::ModelMap map = model_map_of(line, problems);
  const std::int64_t jobs = integer_option(line, "jobs", 4, 1, problems);
  const std::string format = line.value("format");
  if (!format.empty() && format != hub::kVanilla && format != hub::kGptqQuantized) {
    problems.push_back({"--format",
                        fmt::format("'{}' is neither {} nor {}", printable(format), hub::kVanilla,
                                    hub::kGptqQuantized),
                        ""});
  }
  WantedList wanted(map, format);
  for (const std::string& name : line.arguments) {
    wanted.add_word(name);
  }
  if (const config::GivenOption* input = line.find("input")) {
    hub::ModelMap file;
    file.add_file(input->value, problems);
    for (const hub::ModelSources& sources : file.all()) {
      wanted.add_entry(sources);
    }
  } else if (line.arguments.empty()) {
    problems.push_back({"", "neither NAME nor -i FILE is given: what to fetch", ""});
  }
  if (!problems.empty()) {
    print_problems(console, problems);
    return kUsage;
  }
  // A limit on file sizes is told as a full disk is, not by ending the program.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string home = line.value("output");
  hub::FetchOptions options{
      .cache = home.empty() ? hub::hub_cache() : std::filesystem::path(home) / "hub",
      .endpoint = hub::endpoint()};
  options.token = hub::token(home.empty() ? hub::hf_home() : std::filesystem::path(home));
  options.offline = hub::offline();
  options.verify = line.has("verify");
  options.at_once = static_cast<int>(std::min<std::int64_t>(jobs, 32));
  Getting getting(std::move(options), home, console);
  for (const WantedModel& one : wanted.list()) {
    getting.get(one);
  }
  return getting.finish(invocation.json());
}

}  // namespace

Command models_get_command() {
  return {{.name = "models get",
           .summary = "fetch models from a Hugging Face hub into the cache of its own tools",
           .details = "Goes on where an interrupted fetch stopped. Reads HF_ENDPOINT, HF_HOME, "
                      "HF_HUB_CACHE, HF_TOKEN (or the file token in HF_HOME), HF_HUB_OFFLINE. Only "
                      "safetensors, configuration, tokenizer and model card are fetched.",
           .arguments = {{"NAME", "org/name, org/name@revision, or a name of `tunebench models`",
                          false, true}},
           .options = {{.name = "input",
                        .aliases = {"-i"},
                        .value_name = "FILE",
                        .help = "fetch all that this file names: {NAME: {Vanilla: org/name, "
                                "GPTQ-Quantized: org/name}}; folders are left out"},
                       {.name = "output",
                        .aliases = {"-o"},
                        .value_name = "HF_HOME",
                        .help = "folder whose hub/ is the cache; default: $HF_HOME, else "
                                "~/.cache/huggingface"},
                       {.name = "format",
                        .value_name = "FORMAT",
                        .help = "Vanilla or GPTQ-Quantized; default: Vanilla of names, all of a "
                                "file"},
                       {.name = "verify",
                        .takes_value = false,
                        .help = "hash also what is there already, and fetch again what is damaged"},
                       {.name = "jobs",
                        .aliases = {"-j"},
                        .value_name = "N",
                        .help = "files at once; default 4"},
                       models_option(),
                       json_option()},
           .examples = {"tunebench models get HuggingFaceTB/SmolLM2-135M",
                        "tunebench models get -i models.yaml -o /data/hf"}},
          get_models};
}

}  // namespace tunebench::cli
