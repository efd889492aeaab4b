#pragma once

#include <cstdint>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/request.h"
#include "tunebench/search/searcher.h"
#include "tunebench/search/stopper.h"
#include "tunebench/search/walk.h"

namespace tunebench::campaign {

/// A request's words as the search library's. Mistakes are told.
search::SearchConfig search_config(const Request& request, const search::FiniteSpace& space,
                                   Diagnostics& problems);
search::WalkConfig walk_config(const Request& request, Diagnostics& problems);
std::vector<search::StopConfig> stop_configs(const StopRequest& stop);
std::uint64_t search_seed(const SearchRequest& request);

}  // namespace tunebench::campaign
