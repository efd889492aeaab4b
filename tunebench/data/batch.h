#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tunebench/data/dataset.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {

/// Label of a position that is not trained.
inline constexpr std::int32_t kIgnoredLabel = -100;

/// One micro-batch, padded on the right to its longest sample: [samples, length] row-major.
/// labels[b, t] is the token that position t has to predict (the next one), or kIgnoredLabel.
struct MicroBatch {
  std::int64_t samples = 0;
  std::int64_t length = 0;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;
  std::int64_t tokens_nonpad = 0;
  std::int64_t tokens_trained = 0;
  [[nodiscard]] std::int64_t tokens() const { return samples * length; }
};

/// How samples become batches.
struct BatchOptions {
  std::int64_t batch_size = 1;    ///< samples of a micro-batch
  std::int64_t accumulation = 1;  ///< micro-batches of an optimizer step
  std::int64_t max_length = 512;  ///< samples are cut to this many tokens
  std::string response_template;  ///< empty: every token is trained; else only what
                                  ///< follows its last occurrence
  std::int32_t pad_token = 0;
};

/// Micro-batches in file order, epoch after epoch; the last micro-batch of an epoch may be short,
/// the last step of an epoch may have fewer micro-batches.
/// micro-batches per epoch m = ceil(samples / batch_size); steps per epoch = ceil(m /
/// accumulation).
class BatchSource {
 public:
  BatchSource(const Dataset& dataset, const Tokenizer& tokenizer, BatchOptions options);

  [[nodiscard]] std::int64_t steps_per_epoch() const;
  /// The micro-batches of step `step` (0-based, over all epochs). Tokenises what was not used
  /// before; keeps the ids of samples it has seen.
  std::vector<MicroBatch> step(std::int64_t step);

 private:
  const std::vector<std::int32_t>& ids(std::int64_t sample);
  const Dataset& dataset_;
  const Tokenizer& tokenizer_;
  BatchOptions options_;
  std::vector<std::int32_t> template_ids_;
  std::vector<std::vector<std::int32_t>> samples_;
};

}  // namespace tunebench::data
