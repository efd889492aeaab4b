#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/cached_models.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/model_map_option.h"
#include "tunebench/hub/environment.h"
#include "tunebench/model/model_source.h"
#include "tunebench/report/text_table.h"

namespace tunebench::cli {

namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(printable(text));
}

/// What `models show` tells, in the order of its lines.
struct ModelSheet {
  std::string name;
  std::string kind;  ///< preset, folder, cached, name
  std::optional<hub::ModelSources> sources;
  std::string folder;
  std::string revision;
  std::optional<model::ModelSpec> spec;
  std::int64_t bytes = -1;
  std::int64_t files = 0;
  std::string licence;
  std::string reason;  ///< why trainer native does not take it
  /// Of a preset: whether the weights that it stands for are in the Hugging Face cache.
  std::optional<bool> weights_cached;
};

Json shape_json(const model::ModelSpec& spec) {
  return Json::object({{"model_type", spec.model_type},
                       {"layers", spec.layers},
                       {"width", spec.width},
                       {"heads", spec.heads},
                       {"kv_heads", spec.kv_heads},
                       {"feed_forward", spec.feed_forward},
                       {"vocabulary", spec.vocabulary},
                       {"max_positions", model::longest_sequence(spec)},
                       {"stored_dtype", spec.stored_dtype}});
}

Json sheet_json(const ModelSheet& sheet) {
  Json object = Json::object({{"name", printable(sheet.name)}, {"kind", sheet.kind}});
  object.set("vanilla", sheet.sources ? text_or_null(sheet.sources->vanilla) : Json());
  object.set("gptq_quantized", sheet.sources ? text_or_null(sheet.sources->gptq) : Json());
  object.set("weights_cached", sheet.weights_cached ? Json(*sheet.weights_cached) : Json());
  object.set("folder", text_or_null(sheet.folder));
  object.set("revision", text_or_null(sheet.revision));
  object.set("parameters", sheet.spec ? Json(model::parameter_count(*sheet.spec)) : Json());
  object.set("shape", sheet.spec ? shape_json(*sheet.spec) : Json());
  object.set("bytes", sheet.bytes < 0 ? Json() : Json(sheet.bytes));
  object.set("files", sheet.bytes < 0 ? Json() : Json(sheet.files));
  object.set("licence", text_or_null(sheet.licence));
  object.set("runs_with", sheet.reason.empty() ? Json("native") : Json());
  object.set("reason", text_or_null(sheet.reason));
  return object;
}

std::string sheet_text(const ModelSheet& sheet) {
  std::string text;
  const auto line = [&text](std::string_view title, const std::string& value) {
    if (!value.empty()) {
      text += fmt::format("{:<11} {}\n", title, printable(value));
    }
  };
  line("model", fmt::format("{} ({})", sheet.name, sheet.kind));
  if (sheet.sources) {
    line("vanilla", sheet.sources->vanilla);
    line("quantized", sheet.sources->gptq);
    line("named by", sheet.sources->where);
  }
  line("folder", sheet.folder);
  line("revision", sheet.revision);
  if (sheet.spec) {
    const model::ModelSpec& spec = *sheet.spec;
    line("shape", fmt::format("{}: {} layers, width {}, {} heads, {} key heads, feed-forward {}, "
                              "vocabulary {}",
                              spec.model_type, spec.layers, spec.width, spec.heads, spec.kv_heads,
                              spec.feed_forward, with_thousands(spec.vocabulary)));
    line("parameters", with_thousands(model::parameter_count(spec)));
    line("longest", with_thousands(model::longest_sequence(spec)) + " tokens");
    if (sheet.weights_cached) {
      const std::string get = "tunebench models get " + sheet.name;
      line("cached", *sheet.weights_cached ? "yes; its weights: --model " + sheet.sources->vanilla
                                           : "no; " + get);
    }
    line("stored as", sheet.kind == "preset" ? "random weights" : spec.stored_dtype);
  }
  if (sheet.bytes >= 0) {
    line("on disk", fmt::format("{} in {} files", format_bytes(sheet.bytes), sheet.files));
  }
  line("licence", sheet.licence);
  line("runs with", sheet.reason.empty() ? "native" : "not native: " + sheet.reason);
  return text;
}

void add_folder(ModelSheet& sheet, const std::filesystem::path& folder) {
  FolderFacts facts = facts_of(folder);
  sheet.folder = display_path(folder);
  sheet.spec = std::move(facts.spec);
  sheet.licence = std::move(facts.licence);
  sheet.reason = std::move(facts.reason);
  if (sheet.reason.empty()) {
    try {
      // The weights may differ from what config.json says.
      sheet.spec = model::resolve_model(folder.string()).spec;
    } catch (const Error& error) {
      sheet.reason = error.message();
    }
  }
}

void add_cached(ModelSheet& sheet, const hub::CachedModel& model) {
  add_folder(sheet, model.folder);
  sheet.revision = model.commit;
  sheet.bytes = model.bytes();
  sheet.files = static_cast<std::int64_t>(model.files.size());
}

const model::Preset* find_preset(const std::string& name) {
  const auto found = std::ranges::find(model::presets(), name, &model::Preset::name);
  return found == model::presets().end() ? nullptr : &*found;
}

/// Where the named weights are on this machine.
void add_source(ModelSheet& sheet, const std::string& source) {
  std::error_code ignored;
  const std::optional<hub::RepoId> id = hub::parse_repo_id(source);
  if (std::filesystem::is_directory(source, ignored)) {
    sheet.kind = "folder";
    add_folder(sheet, source);
    return;
  }
  const auto folder = id ? hub::cached_snapshot(hub::hub_cache(), *id) : std::nullopt;
  for (const hub::CachedModel& model : hub::cached_models(hub::hub_cache())) {
    if (folder && model.folder == *folder) {
      sheet.kind = "cached";
      add_cached(sheet, model);
    }
  }
}

ModelSheet sheet_of(const std::string& name, const hub::ModelMap& map) {
  ModelSheet sheet{.name = name, .kind = "name"};
  if (const hub::ModelSources* sources = map.find(name)) {
    sheet.sources = *sources;
  }
  const bool own = sheet.sources && !sheet.sources->where.empty();
  if (const model::Preset* preset = find_preset(name); preset != nullptr && !own) {
    sheet.kind = "preset";
    sheet.spec = preset->spec;
    const auto id = hub::parse_repo_id(sheet.sources ? sheet.sources->vanilla : "");
    if (id) {
      sheet.weights_cached = hub::cached_snapshot(hub::hub_cache(), *id).has_value();
    }
    return sheet;
  }
  const std::string source = sheet.sources ? sheet.sources->vanilla : name;
  add_source(sheet, source.empty() && sheet.sources ? sheet.sources->gptq : source);
  if (sheet.kind == "name") {
    try {
      static_cast<void>(model::resolve_model(own ? source : name));
    } catch (const Error& error) {
      if (!sheet.sources) {
        throw;
      }
      sheet.reason = error.message();
    }
  }
  return sheet;
}

int show_model(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  const hub::ModelMap map = model_map_of(invocation.line, problems);
  if (!problems.empty()) {
    print_problems(console, problems);
    return kUsage;
  }
  const ModelSheet sheet = sheet_of(invocation.line.arguments[0], map);
  write_result(console, invocation.json() ? sheet_json(sheet).dump(2) + "\n" : sheet_text(sheet));
  return kOk;
}

int check_models(const Invocation& invocation, Console& console) {
  const std::vector<hub::CachedModel> models = cached_models_named(invocation.line.arguments);
  report::TextTable table;
  table.add_column("model");
  table.add_column("files", report::TextTable::Align::Right);
  table.add_column("on disk", report::TextTable::Align::Right);
  table.add_column("found");
  Json rows = Json::array();
  bool damaged = false;
  for (const hub::CachedModel& model : models) {
    const std::vector<std::string> faults = hub::faults_of(model, true);
    damaged = damaged || !faults.empty();
    Json list = Json::array();
    for (const std::string& fault : faults) {
      list.push_back(fault);
    }
    table.add_row({model.text(), std::to_string(model.files.size()), format_bytes(model.bytes()),
                   faults.empty() ? "ok" : faults.front()});
    for (std::size_t i = 1; i < faults.size(); ++i) {
      table.add_row({"", "", "", faults[i]});
    }
    if (!faults.empty()) {
      table.add_row({"", "", "", "again: tunebench models get --verify " + model.text()});
    }
    rows.push_back(Json::object({{"model", model.name},
                                 {"revision", model.commit},
                                 {"folder", display_path(model.folder)},
                                 {"files", static_cast<std::int64_t>(model.files.size())},
                                 {"bytes", model.bytes()},
                                 {"faults", std::move(list)}}));
  }
  if (models.empty() && !invocation.json()) {
    console.err << fmt::format("no models in {}\n", display_path(hub::hub_cache()));
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n"
                        : models.empty()  ? ""
                                          : table.text());
  return damaged ? kSomeFailed : kOk;
}

int remove_models(const Invocation& invocation, Console& console) {
  Json rows = Json::array();
  std::string text;
  for (const hub::CachedModel& model : cached_models_named(invocation.line.arguments)) {
    const std::int64_t freed = hub::remove_cached(hub::hub_cache(), model);
    text += fmt::format("removed {}: {} free\n", model.text(), format_bytes(freed));
    rows.push_back(
        Json::object({{"model", model.name}, {"revision", model.commit}, {"freed_bytes", freed}}));
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n" : text);
  return kOk;
}

}  // namespace

Command models_show_command() {
  return {{.name = "models show",
           .summary = "what a model is, where it is, and what can train it",
           .arguments = {{"NAME",
                          "a name of `tunebench models`, a folder, or org/name[@revision] "
                          "of the Hugging Face cache"}},
           .options = {models_option(), json_option()},
           .examples = {"tunebench models show granite-3.1-2b",
                        "tunebench models show HuggingFaceTB/SmolLM2-135M"}},
          show_model};
}

Command models_check_command() {
  return {{.name = "models check",
           .summary = "hash the cached models again; exit code 2 when one is damaged",
           .arguments = {{"NAME", "org/name[@revision]; none: all of the Hugging Face cache", false,
                          true}},
           .options = {json_option()},
           .examples = {"tunebench models check", "tunebench models check org/name"}},
          check_models};
}

Command models_rm_command() {
  return {{.name = "models rm",
           .summary = "remove models from the Hugging Face cache",
           .arguments = {{"NAME", "org/name, which is all of its revisions, or org/name@revision",
                          true, true}},
           .options = {json_option()},
           .examples = {"tunebench models rm org/name"}},
          remove_models};
}

}  // namespace tunebench::cli
