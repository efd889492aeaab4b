#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/data/tokenizer.h"

namespace tunebench::data {

/// Ordered texts. Thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// The whole text of entry `index`.
  [[nodiscard]] virtual std::string text(std::int64_t index) const = 0;
  /// A beginning of the text with at least `bytes` bytes, or all of it. It may be longer, and is
  /// the whole text unless a dataset says otherwise. Lets a synthetic entry be made only as far as
  /// it is needed.
  [[nodiscard]] virtual std::string text_prefix(std::int64_t index, std::int64_t bytes) const;
  /// Changes when the content changes; part of the reuse key.
  [[nodiscard]] virtual const std::string& fingerprint() const = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// A synthetic text dataset: entry i depends on (seed, i) only.
struct SyntheticSpec {
  std::string id = "news-tokens-16384plus-entries-4096";
  std::int64_t entries = 4096;
  std::int64_t min_tokens = 16384;  ///< under the given tokenizer
  std::uint64_t seed = 1;
  std::int64_t min_chars = 0;  ///< 0: not asked for
};
/// The known synthetic ids of the reference system's text datasets, with what they hold.
const std::vector<SyntheticSpec>& synthetic_datasets();

/// Entries are "### Input:\n<words>\n\n### Response: <words>" from a fixed word list, at least
/// min_chars long and long enough that `tokenizer` gives at least min_tokens: one word per wanted
/// token. A tokenizer with tokens that reach over several words is noticed on entry 0 and gets more
/// words. The tokenizer is not kept.
/// Errors: InvalidInput when entries or a minimum is out of range.
std::unique_ptr<Dataset> make_synthetic_dataset(const SyntheticSpec& spec,
                                                const Tokenizer& tokenizer);

/// Writes the synthetic dataset as JSON lines {"output": text}, atomically. Same arguments, same
/// bytes. Returns the number of bytes written.
std::int64_t write_synthetic_dataset(const SyntheticSpec& spec, const Tokenizer& tokenizer,
                                     const std::filesystem::path& file);

/// Reads JSON lines; each record's text is its field `field` ("output" by default). When `field`
/// is "output" and a file's first record has no such field but has "text", that one is used for
/// the whole file. A byte-order mark at the start and CRLF are accepted, blank lines skipped.
/// A lone surrogate (\ud83d without its second half) is refused. Lines of any length are read.
/// Every line is checked on opening.
/// Errors: NotFound; InvalidInput with file:line and what is wrong (not JSON, field missing, type
/// found), "is empty", UTF-16, "JSON array, not JSON lines".
std::unique_ptr<Dataset> open_jsonl_dataset(const std::filesystem::path& file,
                                            std::string_view field);

/// dataset_id: a known synthetic id, else a path of a .jsonl file.
/// Errors: as above; NotFound with the nearest id; Unsupported for image datasets and Parquet.
std::unique_ptr<Dataset> resolve_dataset(std::string_view dataset_id, std::string_view text_field,
                                         const Tokenizer& tokenizer);

}  // namespace tunebench::data
