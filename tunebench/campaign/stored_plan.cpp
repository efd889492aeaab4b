#include "tunebench/campaign/stored_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/error.h"
#include "tunebench/base/secrets.h"
#include "tunebench/campaign/staleness.h"

namespace tunebench::campaign {
namespace {

constexpr std::int64_t kFormat = 1;
/// Titles of more points would take longer to write than the points to reuse.
constexpr std::size_t kMostTitles = 2000;

Json texts_json(const std::map<std::string, std::string>& texts) {
  Json::Object members;
  for (const auto& [name, text] : texts) {
    members.emplace_back(name, text);
  }
  return Json::object(std::move(members));
}

std::map<std::string, std::string> texts_of(const Json& json) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : json.as_object()) {
    texts.emplace(name, text.as_string());
  }
  return texts;
}

StoredPlan read_plan_json(const Json& json) {
  if (json.at("format").as_int() != kFormat) {
    throw Error(ErrorCode::Unsupported, fmt::format("it is of format {}, this version reads {}",
                                                    json.at("format").as_int(), kFormat));
  }
  StoredPlan plan{.words = {},
                  .folder = json.at("folder").as_string(),
                  .files = texts_of(json.at("files")),
                  .version = json.at("tunebench").as_string(),
                  .has_secrets = json.at("has_secrets").as_bool(),
                  .conditions = json.at("conditions").as_array(),
                  .titles = texts_of(json.at("titles"))};
  for (const Json& word : json.at("words").as_array()) {
    plan.words.push_back(word.as_string());
  }
  return plan;
}

}  // namespace

StoredPlan describe(const Plan& plan, std::vector<std::string> words, std::string folder,
                    std::map<std::string, std::string> files) {
  StoredPlan stored{.words = mask_secrets(words),
                    .folder = std::move(folder),
                    .files = std::move(files),
                    .version = build_info().version};
  stored.has_secrets = stored.words != words;
  for (auto& [name, text] : stored.files) {
    std::string masked = mask_secrets(text);
    stored.has_secrets = stored.has_secrets || masked != text;
    text = std::move(masked);
  }
  for (const PlannedPoint& point : plan.points) {
    if (std::ranges::find(stored.conditions, point.conditions) == stored.conditions.end()) {
      stored.conditions.push_back(point.conditions);
    }
    if (plan.points.size() <= kMostTitles) {
      stored.titles.emplace(point.key, point.title);
    }
  }
  return stored;
}

std::string to_text(const StoredPlan& plan) {
  Json words = Json::array();
  for (const std::string& word : plan.words) {
    words.push_back(word);
  }
  return Json::object({{"format", kFormat},
                       {"tunebench", plan.version},
                       {"words", std::move(words)},
                       {"folder", plan.folder},
                       {"files", texts_json(plan.files)},
                       {"has_secrets", plan.has_secrets},
                       {"conditions", Json(plan.conditions)},
                       {"titles", texts_json(plan.titles)}})
      .dump();
}

StoredPlan stored_plan(const store::Run& run) {
  if (run.plan.empty()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} has no plan in the store: it is an import or was made by an older "
                            "version; the same command goes on with it",
                            run.name));
  }
  try {
    return read_plan_json(Json::parse(run.plan, "plan of " + run.name));
  } catch (const Error& error) {
    throw Error(error.code() == ErrorCode::Unsupported ? error.code() : ErrorCode::Corrupt,
                fmt::format("the plan of {} cannot be read: {}", run.name, error.message()));
  }
}

void mark_stale(std::vector<store::RunRecord>& records, const store::Run& run) {
  if (run.plan.empty() || run.reused == 0) {
    return;
  }
  const StoredPlan plan = stored_plan(run);
  for (store::RunRecord& one : records) {
    std::vector<std::string> differences;
    for (const Json& conditions : plan.conditions) {
      differences.push_back(condition_differences(one.record.conditions, conditions));
    }
    // Points with and without GPUs have conditions of their own: the nearest are its own.
    const auto nearest = std::ranges::min_element(differences, {}, &std::string::size);
    if (one.reused && nearest != differences.end()) {
      one.stale = *nearest;
    }
  }
}

}  // namespace tunebench::campaign
