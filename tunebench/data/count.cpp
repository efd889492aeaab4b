#include "tunebench/data/count.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "tunebench/base/thread_pool.h"

namespace tunebench::data {

TokenCounts count_tokens(const Dataset& dataset, const Tokenizer& tokenizer, int threads) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(dataset.size()));
  ThreadPool pool(threads);
  pool.for_each_task(dataset.size(), [&](std::int64_t entry, int /*thread*/) {
    tokens[static_cast<std::size_t>(entry)] =
        static_cast<std::int64_t>(tokenizer.encode(dataset.text(entry), true).size());
  });
  TokenCounts counts{.entries = dataset.size()};
  if (!tokens.empty()) {
    const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
    counts.min = *least;
    counts.max = *most;
    counts.total = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  }
  return counts;
}

}  // namespace tunebench::data
