#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  std::vector<std::int32_t> lengths;  ///< of each sample, the padding left out; empty: all whole
  std::int64_t tokens_nonpad = 0;
  std::int64_t tokens_trained = 0;
  [[nodiscard]] std::int64_t tokens() const { return samples * length; }
};

/// How samples become batches.
struct BatchOptions {
  std::int64_t batch_size = 1;         ///< samples of a micro-batch
  std::int64_t accumulation = 1;       ///< micro-batches of an optimizer step
  std::int64_t max_length = 512;       ///< samples are cut to this many tokens
  std::string response_template = {};  ///< empty: every token is trained; else only what
                                       ///< follows its last occurrence
  std::int32_t pad_token = 0;
};

/// Micro-batches in file order, epoch after epoch; the last micro-batch of an epoch may be short,
/// the last step of an epoch may have fewer micro-batches.
/// micro-batches per epoch m = ceil(samples / batch_size); steps per epoch = ceil(m /
/// accumulation).
///
/// Each sample is encoded with the tokenizer's special tokens, then cut. A sample without tokens
/// stays in its place as a row of padding; a micro-batch of such samples alone has length 1.
/// A sample trains one token less than it has. With a response template it trains the tokens that
/// begin at or after the end of the template's last occurrence: none when the text does not hold
/// the template or the cut took the answer away. So a micro-batch, or a step, may train no token at
/// all; a whole set that trains none is refused.
class BatchSource {
 public:
  /// The dataset and the tokenizer must stay alive. Reads samples until one trains a token.
  /// Errors: InvalidInput for options below 1, for a dataset without samples, and "0 of 2 samples
  /// contain the response template '...'" or the like when nothing would be trained.
  BatchSource(const Dataset& dataset, const Tokenizer& tokenizer, BatchOptions options);

  [[nodiscard]] std::int64_t micro_batches_per_epoch() const;
  [[nodiscard]] std::int64_t steps_per_epoch() const;
  /// The micro-batches of step `step` (0-based, over all epochs). Tokenises what was not used
  /// before; keeps the ids of samples it has seen, up to 256 MiB of them.
  std::vector<MicroBatch> step(std::int64_t step);

 private:
  struct Sample {
    std::vector<std::int32_t> ids;
    std::size_t first_trained = 1;  ///< this token and the later ones are predicted
    [[nodiscard]] std::int64_t trained() const;
  };

  void check_options() const;
  void check_something_is_trained();
  [[nodiscard]] Sample make_sample(std::int64_t index) const;
  [[nodiscard]] Sample make_masked_sample(std::int64_t index) const;
  const Sample& sample(std::int64_t index);
  MicroBatch micro_batch(std::int64_t index);

  const Dataset& dataset_;
  const Tokenizer& tokenizer_;
  BatchOptions options_;
  std::vector<std::optional<Sample>> samples_;
  std::size_t kept_ids_ = 0;
  Sample unkept_;
};

}  // namespace tunebench::data
