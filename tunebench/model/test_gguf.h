#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::model::testing {

/// Little-endian numbers and length-prefixed texts, one after the other.
class Bytes {
 public:
  Bytes& number(std::uint64_t value, int bytes);
  Bytes& u32(std::uint64_t value) { return number(value, 4); }
  Bytes& u64(std::uint64_t value) { return number(value, 8); }
  Bytes& f32(float value);
  Bytes& raw(std::string_view text);
  Bytes& string(std::string_view text) { return u64(text.size()).raw(text); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The start of a GGUF file up to the first metadata entry.
Bytes gguf_start(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3);

/// Puts a GGUF file together: metadata entries and float32 tensors.
class GgufBuilder {
 public:
  GgufBuilder& integer(std::string_view key, std::uint32_t value);
  GgufBuilder& real(std::string_view key, float value);
  GgufBuilder& boolean(std::string_view key, bool value);
  GgufBuilder& text(std::string_view key, std::string_view value);
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values);
  GgufBuilder& integers(std::string_view key, const std::vector<std::uint32_t>& values);
  /// Sizes fastest first, as GGUF has them.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes,
                      const std::vector<float>& values);
  [[nodiscard]] std::string file() const;

 private:
  Bytes& entry(std::string_view key, std::uint32_t type);

  std::uint64_t entries_ = 0;
  std::uint64_t tensors_ = 0;
  Bytes metadata_;
  Bytes infos_;
  std::string data_;
};

/// Tokens "a", "b", "ab", "<s>", "</s>" with one merge, split as `pre` says (empty: not stated).
GgufBuilder tokenizer_builder(std::string_view pre);

/// A tokenizer and a Llama of one layer: vocabulary 5, width 8, 2 heads of 4, 1 kv-head,
/// feed-forward 6; element i of each tensor is i.
GgufBuilder llama_builder();

}  // namespace tunebench::model::testing
