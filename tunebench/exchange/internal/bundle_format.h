#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tunebench/base/json.h"
#include "tunebench/store/store.h"

namespace tunebench::exchange {

/// Entries of a bundle, in this order: bundle.json, logs/ID.log.gz (or .log), content/000001.jsonl
/// and on. Logs come first, so that a record that is kept always has its own. The lines of content
/// are objects told apart by `kind`: run, environment, shows, record, reused, end.
inline constexpr std::int64_t kBundleFormat = 1;
inline constexpr std::string_view kHeadName = "bundle.json";
inline constexpr std::string_view kContentFolder = "content/";
inline constexpr std::string_view kLogFolder = "logs/";

Json run_line(const store::Run& run);
/// Errors: those of Json for what is missing or of another kind.
store::Run run_of(const Json& line);

}  // namespace tunebench::exchange
