#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/random.h"
#include "tunebench/data/atomic_writer.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/synthetic_words.h"

namespace tunebench::data {
namespace {

constexpr int kVersion = 1;  // of the words and of how they are drawn
constexpr std::int64_t kInputWords = 8;
constexpr std::string_view kPrompt = "### Input:\n";
constexpr std::string_view kDelimiter = "\n\n### Response: ";
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 31;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
constexpr std::int64_t kMaxChars = std::int64_t{1} << 28;

class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(SyntheticSpec spec, std::int64_t words) : spec_(std::move(spec)), words_(words) {
    fingerprint_ =
        sha256_hex(fmt::format("synthetic text {}: entries {} words {} chars {} seed {}", kVersion,
                               spec_.entries, words_, spec_.min_chars, spec_.seed));
  }

  [[nodiscard]] std::int64_t size() const override { return spec_.entries; }
  [[nodiscard]] std::string text(std::int64_t index) const override {
    return text_prefix(index, std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] std::string text_prefix(std::int64_t index, std::int64_t bytes) const override;
  [[nodiscard]] const std::string& fingerprint() const override { return fingerprint_; }
  [[nodiscard]] const std::string& name() const override { return spec_.id; }

 private:
  SyntheticSpec spec_;
  std::int64_t words_;  ///< of the response, at least
  std::string fingerprint_;
};

std::string SyntheticDataset::text_prefix(std::int64_t index, std::int64_t bytes) const {
  TB_CHECK(index >= 0 && index < spec_.entries);
  const std::span<const std::string_view> words = synthetic_words();
  std::string text(kPrompt);
  std::array<std::uint32_t, 4> draws{};
  std::uint64_t drawn = 0;
  const auto add_word = [&](bool first) {
    if (drawn % draws.size() == 0) {
      draws = philox(spec_.seed, static_cast<std::uint64_t>(index), drawn / draws.size());
    }
    // The square prefers the head of the list, as language prefers its common words.
    const double u = draws[drawn++ % draws.size()] * 0x1p-32;
    if (!first) {
      text.push_back(' ');
    }
    text.append(words[static_cast<std::size_t>(u * u * static_cast<double>(words.size()))]);
  };
  for (std::int64_t word = 0; word < kInputWords; ++word) {
    add_word(word == 0);
  }
  text.append(kDelimiter);
  for (std::int64_t word = 0; static_cast<std::int64_t>(text.size()) < bytes; ++word) {
    if (word >= words_ && static_cast<std::int64_t>(text.size()) >= spec_.min_chars) {
      break;
    }
    add_word(word == 0);
  }
  return text;
}

void check_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("a synthetic dataset has {} to {} {}, not {}", low, high, what, value));
  }
}

SyntheticSpec tokens_spec(std::string id, std::int64_t entries, std::int64_t min_tokens) {
  return {.id = std::move(id), .entries = entries, .min_tokens = min_tokens};
}

std::vector<SyntheticSpec> make_specs() {
  std::vector<SyntheticSpec> specs;
  for (const std::int64_t chars : {512, 1024, 2048}) {
    for (const std::int64_t entries : {256, 1024, 4096}) {
      specs.push_back({.id = fmt::format("news-chars-{}-entries-{}", chars, entries),
                       .entries = entries,
                       .min_tokens = 0,
                       .min_chars = chars});
    }
  }
  specs.push_back(tokens_spec("news-tokens-16384plus-entries-4096", 4096, 16384));
  specs.push_back(tokens_spec("news-tokens-128kplus-entries-4096", 4096, 131072));
  specs.push_back(tokens_spec("news-tokens-128kplus-entries-320", 320, 131072));
  return specs;
}

}  // namespace

const std::vector<SyntheticSpec>& synthetic_datasets() {
  static const std::vector<SyntheticSpec> specs = make_specs();
  return specs;
}

std::unique_ptr<Dataset> make_synthetic_dataset(const SyntheticSpec& spec,
                                                const Tokenizer& tokenizer) {
  check_range("entries", spec.entries, 1, kMaxEntries);
  check_range("tokens at least", spec.min_tokens, 0, kMaxTokens);
  check_range("characters at least", spec.min_chars, 0, kMaxChars);
  // A word is at least one token for every tokenizer whose tokens do not reach over several words.
  std::int64_t words = std::max<std::int64_t>(spec.min_tokens, 1);
  for (;;) {
    auto dataset = std::make_unique<SyntheticDataset>(spec, words);
    const std::vector<std::int32_t> ids =
        tokenizer.encode(dataset->text(0), false, spec.min_tokens);
    const std::int64_t tokens = static_cast<std::int64_t>(ids.size());
    if (tokens >= spec.min_tokens) {
      return dataset;
    }
    if (tokens < spec.min_tokens / 8) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: gives {} tokens for {} English words; a text of {} tokens "
                              "cannot be made for it",
                              tokenizer.name(), tokens, words, spec.min_tokens));
    }
    // A tenth more than entry 0 needs, for the entries that were not looked at.
    words = words * spec.min_tokens / tokens * 11 / 10 + 1;
  }
}

std::int64_t write_synthetic_dataset(const SyntheticSpec& spec, const Tokenizer& tokenizer,
                                     const std::filesystem::path& file) {
  const std::unique_ptr<Dataset> dataset = make_synthetic_dataset(spec, tokenizer);
  AtomicWriter writer(file);
  for (std::int64_t entry = 0; entry < dataset->size(); ++entry) {
    writer.write("{\"output\": \"");
    const std::string text = dataset->text(entry);
    std::string_view rest = text;
    for (std::size_t line = rest.find('\n'); line != std::string_view::npos;
         line = rest.find('\n')) {
      writer.write(rest.substr(0, line));
      writer.write("\\n");  // nothing else in these texts needs an escape
      rest.remove_prefix(line + 1);
    }
    writer.write(rest);
    writer.write("\"}\n");
  }
  writer.commit();
  return writer.bytes_written();
}

}  // namespace tunebench::data
