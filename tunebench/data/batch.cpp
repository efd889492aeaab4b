#include "tunebench/data/batch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

constexpr std::size_t kMaxKeptIds = (std::size_t{256} << 20U) / sizeof(std::int32_t);

std::int64_t divide_up(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

bool begins_with(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& head) {
  return head.size() <= ids.size() && std::equal(head.begin(), head.end(), ids.begin());
}

/// Index of the first of `ids` (those of `text`, perhaps cut) that begins at or after `position`.
///
/// A beginning of the text whose ids begin `ids` ends between two of its tokens. The first such
/// place at or after `position` is looked for, because a token may reach over `position` itself.
std::size_t first_token_from(std::string_view text, std::size_t position,
                             const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  constexpr int kTries = 32;
  std::size_t common = 0;
  for (int attempt = 0; attempt < kTries && position < text.size(); ++attempt) {
    const std::vector<std::int32_t> head = tokenizer.encode(
        text.substr(0, position), false, static_cast<std::int64_t>(ids.size()) + 1);
    if (begins_with(ids, head)) {
      return head.size();
    }
    if (attempt == 0) {
      common = static_cast<std::size_t>(
          std::mismatch(ids.begin(), ids.end(), head.begin(), head.end()).first - ids.begin());
      if (common == ids.size()) {
        return ids.size();  // cut before `position`
      }
    }
    position += code_point_length(text[position]);
  }
  return position >= text.size() ? ids.size() : common + 1;
}

/// How many special tokens stand before the text's own ids.
std::size_t leading_specials(const std::vector<std::int32_t>& with_specials,
                             const std::vector<std::int32_t>& plain) {
  for (std::size_t lead = 0; lead < with_specials.size(); ++lead) {
    const std::size_t compared = std::min(plain.size(), with_specials.size() - lead);
    if (std::equal(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(compared),
                   with_specials.begin() + static_cast<std::ptrdiff_t>(lead))) {
      return lead;
    }
  }
  return with_specials.size();
}

}  // namespace

BatchSource::BatchSource(const Dataset& dataset, const Tokenizer& tokenizer, BatchOptions options)
    : dataset_(dataset), tokenizer_(tokenizer), options_(std::move(options)) {
  check_options();
  samples_.resize(static_cast<std::size_t>(dataset_.size()));
  check_something_is_trained();
}

void BatchSource::check_options() const {
  const auto at_least_one = [](std::string_view name, std::int64_t value) {
    if (value < 1) {
      throw Error(ErrorCode::InvalidInput, fmt::format("{} is {}, not 1 or more", name, value));
    }
  };
  at_least_one("batch_size", options_.batch_size);
  at_least_one("gradient_accumulation_steps", options_.accumulation);
  at_least_one("model_max_length", options_.max_length);
  if (dataset_.size() == 0) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: has no records", dataset_.name()));
  }
}

void BatchSource::check_something_is_trained() {
  const bool masked = !options_.response_template.empty();
  std::int64_t containing = 0;
  for (std::int64_t index = 0; index < dataset_.size(); ++index) {
    if (masked && dataset_.text(index).find(options_.response_template) == std::string::npos) {
      continue;
    }
    ++containing;
    if (sample(index).trained() > 0) {
      return;
    }
  }
  const std::string shown = printable(options_.response_template);
  if (!masked) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: none of {} samples has 2 tokens within model_max_length {}, so "
                            "there is nothing to train",
                            dataset_.name(), dataset_.size(), options_.max_length));
  }
  if (containing == 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: 0 of {} samples contain the response template '{}', so there is "
                            "nothing to train",
                            dataset_.name(), dataset_.size(), shown));
  }
  throw Error(
      ErrorCode::InvalidInput,
      fmt::format("{}: {} of {} samples contain the response template '{}', but none has a "
                  "token after it within model_max_length {}",
                  dataset_.name(), containing, dataset_.size(), shown, options_.max_length));
}

std::int64_t BatchSource::micro_batches_per_epoch() const {
  return divide_up(dataset_.size(), options_.batch_size);
}

std::int64_t BatchSource::steps_per_epoch() const {
  return divide_up(micro_batches_per_epoch(), options_.accumulation);
}

std::int64_t BatchSource::Sample::trained() const {
  return ids.size() > first_trained ? static_cast<std::int64_t>(ids.size() - first_trained) : 0;
}

BatchSource::Sample BatchSource::make_sample(std::int64_t index) const {
  // A tokenizer looks a little ahead, so ids near the end of a cut text may differ from those of
  // the whole text. They are kept away from the ids that count.
  constexpr std::int64_t kMargin = 64;
  const std::int64_t wanted = options_.max_length + kMargin;
  for (std::int64_t bytes = wanted * 8;; bytes *= 2) {
    const std::string text = dataset_.text_prefix(index, bytes);
    const bool whole = static_cast<std::int64_t>(text.size()) < bytes;
    Sample sample{.ids = tokenizer_.encode(text, true, wanted)};
    const std::int64_t tokens = static_cast<std::int64_t>(sample.ids.size());
    if (whole || tokens >= wanted) {
      sample.ids.resize(static_cast<std::size_t>(std::min(tokens, options_.max_length)));
      return sample;
    }
  }
}

BatchSource::Sample BatchSource::make_masked_sample(std::int64_t index) const {
  const std::string text = dataset_.text(index);
  const std::size_t found = text.rfind(options_.response_template);
  Sample sample{.ids = tokenizer_.encode(text, true, options_.max_length)};
  if (found == std::string::npos) {
    sample.first_trained = sample.ids.size();
    return sample;
  }
  const std::vector<std::int32_t> plain = tokenizer_.encode(text, false, options_.max_length);
  const std::size_t first =
      first_token_from(text, found + options_.response_template.size(), plain, tokenizer_);
  sample.first_trained = std::max<std::size_t>(1, leading_specials(sample.ids, plain) + first);
  return sample;
}

const BatchSource::Sample& BatchSource::sample(std::int64_t index) {
  std::optional<Sample>& kept = samples_[static_cast<std::size_t>(index)];
  if (kept.has_value()) {
    return *kept;
  }
  Sample made = options_.response_template.empty() ? make_sample(index) : make_masked_sample(index);
  if (kept_ids_ + made.ids.size() > kMaxKeptIds) {
    unkept_ = std::move(made);
    return unkept_;
  }
  made.ids.shrink_to_fit();
  kept_ids_ += made.ids.size();
  kept = std::move(made);
  return *kept;
}

MicroBatch BatchSource::micro_batch(std::int64_t index) {
  const std::int64_t begin = index * options_.batch_size;
  const std::int64_t end = std::min(begin + options_.batch_size, dataset_.size());
  MicroBatch batch;
  batch.samples = end - begin;
  batch.length = 1;
  for (std::int64_t i = begin; i < end; ++i) {
    batch.length = std::max(batch.length, static_cast<std::int64_t>(sample(i).ids.size()));
  }
  const std::size_t length = static_cast<std::size_t>(batch.length);
  batch.ids.assign(static_cast<std::size_t>(batch.tokens()), options_.pad_token);
  batch.labels.assign(static_cast<std::size_t>(batch.tokens()), kIgnoredLabel);
  for (std::int64_t i = begin; i < end; ++i) {
    const Sample& row = sample(i);
    const std::size_t at = static_cast<std::size_t>(i - begin) * length;
    std::copy(row.ids.begin(), row.ids.end(), batch.ids.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t t = row.first_trained; t < row.ids.size(); ++t) {
      batch.labels[at + t - 1] = row.ids[t];
    }
    batch.lengths.push_back(static_cast<std::int32_t>(row.ids.size()));
    batch.tokens_nonpad += static_cast<std::int64_t>(row.ids.size());
    batch.tokens_trained += row.trained();
  }
  return batch;
}

std::vector<MicroBatch> BatchSource::step(std::int64_t step) {
  TB_CHECK(step >= 0);
  const std::int64_t begin = step % steps_per_epoch() * options_.accumulation;
  const std::int64_t end = std::min(begin + options_.accumulation, micro_batches_per_epoch());
  std::vector<MicroBatch> batches;
  for (std::int64_t index = begin; index < end; ++index) {
    batches.push_back(micro_batch(index));
  }
  return batches;
}

}  // namespace tunebench::data
