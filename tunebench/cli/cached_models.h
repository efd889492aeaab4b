#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/hub/cache.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::cli {

/// What can be told of a model folder without its weights.
struct FolderFacts {
  std::optional<model::ModelSpec> spec;  ///< absent: its config.json is not of a kind we know
  std::string reason;                    ///< why trainer native does not take it; empty: it does
  std::string licence;                   ///< of the model card, README.md; empty: it does not tell
};
FolderFacts facts_of(const std::filesystem::path& folder);

/// The cached models, those with that name or "org/name@revision" only unless it is empty.
/// Errors: NotFound.
std::vector<hub::CachedModel> cached_models_named(const std::vector<std::string>& names);

}  // namespace tunebench::cli
