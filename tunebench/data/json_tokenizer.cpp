#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/data/added_tokens.h"
#include "tunebench/data/bpe.h"
#include "tunebench/data/bpe_file.h"
#include "tunebench/data/json_part.h"
#include "tunebench/data/normalizer.h"
#include "tunebench/data/post_processor.h"
#include "tunebench/data/pre_tokenizer.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

/// Gives pieces to the model until there are enough ids.
class ModelSink final : public PieceSink {
 public:
  ModelSink(const Bpe& model, std::vector<std::int32_t>& ids, std::size_t enough)
      : model_(model), ids_(ids), enough_(enough) {}
  bool take(std::string_view piece, bool /*at_start*/) override {
    model_.encode(piece, ids_, enough_);
    return ids_.size() < enough_;
  }
  bool take_id(std::int32_t id) {
    ids_.push_back(id);
    return ids_.size() < enough_;
  }

 private:
  const Bpe& model_;
  std::vector<std::int32_t>& ids_;
  std::size_t enough_;
};

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(const Json& document, std::string_view origin);

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, bool add_special,
                                                 std::int64_t limit) const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return largest_id_ + 1; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  void add_tokens(const JsonPart& file, const Vocabulary& vocabulary);
  void add_token(const JsonPart& entry, const Vocabulary& vocabulary);
  void prefer_bytes();
  void normalize(std::string& text, bool& at_start) const;
  bool encode_raw(std::string_view text, bool at_start, ModelSink& sink) const;

  std::string name_;
  std::int64_t largest_id_ = -1;
  AddedTokens raw_tokens_;         ///< looked for before normalizing
  AddedTokens normalized_tokens_;  ///< looked for after
  std::vector<std::unique_ptr<Normalizer>> normalizers_;
  PreTokenizers pre_tokenizers_;
  std::unique_ptr<Bpe> model_;
  Surroundings surroundings_;
};

std::unique_ptr<Bpe> make_model(const JsonPart& model, BpeFile file) {
  try {
    return std::make_unique<Bpe>(std::move(file.vocabulary), file.merges, std::move(file.options));
  } catch (const Error& error) {
    model.fail(error.code(), error.message());
  }
}

JsonTokenizer::JsonTokenizer(const Json& document, std::string_view origin) : name_(origin) {
  const JsonPart file(document, origin, "");
  // How to cut and pad is for the batches to say; the decoder has no part in encoding.
  file.expect_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                    "pre_tokenizer", "post_processor", "decoder", "model"});
  BpeFile model = parse_bpe_file(file.part("model"));
  largest_id_ = model.largest_id;
  if (file.find("normalizer") != nullptr) {
    normalizers_ = parse_normalizers(file.part("normalizer"));
  }
  if (file.find("pre_tokenizer") != nullptr) {
    pre_tokenizers_ = parse_pre_tokenizers(file.part("pre_tokenizer"));
  }
  if (file.find("post_processor") != nullptr) {
    surroundings_ = parse_post_processor(file.part("post_processor"));
  }
  add_tokens(file, model.vocabulary);
  model_ = make_model(file.part("model"), std::move(model));
  prefer_bytes();
}

void JsonTokenizer::add_tokens(const JsonPart& file, const Vocabulary& vocabulary) {
  if (file.find("added_tokens") == nullptr) {
    return;
  }
  for (const Json& entry : file.array("added_tokens")) {
    add_token(file.sibling(entry, "added_tokens"), vocabulary);
  }
}

void JsonTokenizer::add_token(const JsonPart& entry, const Vocabulary& vocabulary) {
  entry.expect_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token{.content = entry.string("content"),
                   .id = 0,
                   .single_word = entry.flag("single_word", false),
                   .lstrip = entry.flag("lstrip", false),
                   .rstrip = entry.flag("rstrip", false),
                   .normalized = entry.flag("normalized", !entry.flag("special", false))};
  const std::string shown = excerpt(token.content);
  const std::int64_t id = entry.integer("id");
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
    entry.fail(fmt::format("gives '{}' the id {}, which is out of range", shown, id));
  }
  const std::optional<std::int32_t> known = vocabulary.find(token.content);
  if (known && *known != id) {
    entry.fail(
        fmt::format("gives '{}' the id {}, but the vocabulary gives it {}", shown, id, *known));
  }
  token.id = static_cast<std::int32_t>(id);
  largest_id_ = std::max(largest_id_, id);
  if (token.normalized) {
    bool at_start = true;
    normalize(token.content, at_start);
  }
  if (token.content.empty()) {
    entry.fail(fmt::format("has the token {} '{}', which is empty", id, shown));
  }
  (token.normalized ? normalized_tokens_ : raw_tokens_).add(std::move(token));
}

/// Byte letters are only a way to write bytes. When the last step makes them, the model can as well
/// work on the bytes.
void JsonTokenizer::prefer_bytes() {
  if (pre_tokenizers_.empty()) {
    return;
  }
  std::unique_ptr<PreTokenizer> plain = pre_tokenizers_.back()->without_byte_letters();
  if (plain != nullptr && model_->take_bytes()) {
    pre_tokenizers_.back() = std::move(plain);
  }
}

void JsonTokenizer::normalize(std::string& text, bool& at_start) const {
  for (const std::unique_ptr<Normalizer>& step : normalizers_) {
    step->apply(text, at_start);
  }
}

bool JsonTokenizer::encode_raw(std::string_view text, bool at_start, ModelSink& sink) const {
  std::string normalized;
  if (!normalizers_.empty()) {
    normalized = text;
    normalize(normalized, at_start);
    text = normalized;
  }
  return normalized_tokens_.split(
      text,
      [&](Span span) {
        return cut_by_all(pre_tokenizers_, span.of(text), at_start && span.begin == 0, sink);
      },
      [&](std::int32_t id) { return sink.take_id(id); });
}

std::vector<std::int32_t> JsonTokenizer::encode(std::string_view text, bool add_special,
                                                std::int64_t limit) const {
  if (!is_ascii(text) && !is_valid_utf8(text)) {
    throw Error(ErrorCode::InvalidInput, "text is not UTF-8");
  }
  const std::size_t enough =
      limit < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
  std::vector<std::int32_t> ids;
  constexpr std::size_t kUsualBytesPerToken = 4;
  ids.reserve(std::min(enough, text.size() / kUsualBytesPerToken + 8));
  if (add_special) {
    ids = surroundings_.before;
  }
  ModelSink sink(*model_, ids, enough);
  const bool whole =
      ids.size() < enough &&
      raw_tokens_.split(
          text, [&](Span span) { return encode_raw(span.of(text), span.begin == 0, sink); },
          [&](std::int32_t id) { return sink.take_id(id); });
  if (whole && add_special) {
    ids.insert(ids.end(), surroundings_.after.begin(), surroundings_.after.end());
  }
  ids.resize(std::min(ids.size(), enough));
  return ids;
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer(const Json& document, std::string_view origin) {
  return std::make_unique<JsonTokenizer>(document, origin);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& tokenizer_json) {
  const std::string origin = display_path(tokenizer_json);
  return parse_tokenizer(read_json_file(tokenizer_json), origin);
}

}  // namespace tunebench::data
