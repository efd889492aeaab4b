#include "tunebench/model/test_gguf.h"

#include <bit>

namespace tunebench::model::testing {

Bytes& Bytes::number(std::uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) {
    text_.push_back(static_cast<char>((value >> (8 * byte)) & 0xffU));
  }
  return *this;
}

Bytes& Bytes::f32(float value) {
  return u32(std::bit_cast<std::uint32_t>(value));
}

Bytes& Bytes::raw(std::string_view text) {
  text_ += text;
  return *this;
}

Bytes gguf_start(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version) {
  return Bytes().raw("GGUF").u32(version).u64(tensors).u64(entries);
}

Bytes& GgufBuilder::entry(std::string_view key, std::uint32_t type) {
  ++entries_;
  return metadata_.string(key).u32(type);
}

GgufBuilder& GgufBuilder::integer(std::string_view key, std::uint32_t value) {
  entry(key, 4).u32(value);
  return *this;
}

GgufBuilder& GgufBuilder::real(std::string_view key, float value) {
  entry(key, 6).f32(value);
  return *this;
}

GgufBuilder& GgufBuilder::boolean(std::string_view key, bool value) {
  entry(key, 7).number(value ? 1 : 0, 1);
  return *this;
}

GgufBuilder& GgufBuilder::text(std::string_view key, std::string_view value) {
  entry(key, 8).string(value);
  return *this;
}

GgufBuilder& GgufBuilder::texts(std::string_view key, const std::vector<std::string>& values) {
  entry(key, 9).u32(8).u64(values.size());
  for (const std::string& value : values) {
    metadata_.string(value);
  }
  return *this;
}

GgufBuilder& GgufBuilder::integers(std::string_view key, const std::vector<std::uint32_t>& values) {
  entry(key, 9).u32(5).u64(values.size());
  for (const std::uint32_t value : values) {
    metadata_.u32(value);
  }
  return *this;
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, const std::vector<std::uint64_t>& sizes,
                                 const std::vector<float>& values) {
  ++tensors_;
  infos_.string(name).u32(sizes.size());
  for (const std::uint64_t size : sizes) {
    infos_.u64(size);
  }
  infos_.u32(0).u64(data_.size());
  Bytes bytes;
  for (const float value : values) {
    bytes.f32(value);
  }
  data_ += bytes.text();
  data_.resize((data_.size() + 31) / 32 * 32);
  return *this;
}

std::string GgufBuilder::file() const {
  std::string text = gguf_start(tensors_, entries_).raw(metadata_.text()).raw(infos_.text()).text();
  text.resize((text.size() + 31) / 32 * 32);
  return text + data_;
}

GgufBuilder tokenizer_builder(std::string_view pre) {
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "gpt2")
      .texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<s>", "</s>"})
      .integers("tokenizer.ggml.token_type", {1, 1, 1, 3, 3})
      .texts("tokenizer.ggml.merges", {"a b"})
      .integer("tokenizer.ggml.bos_token_id", 3)
      .integer("tokenizer.ggml.eos_token_id", 4);
  if (!pre.empty()) {
    builder.text("tokenizer.ggml.pre", pre);
  }
  return builder;
}

GgufBuilder llama_builder() {
  GgufBuilder builder = tokenizer_builder("gpt-2");
  builder.text("general.architecture", "llama")
      .integer("llama.embedding_length", 8)
      .integer("llama.block_count", 1)
      .integer("llama.attention.head_count", 2)
      .integer("llama.attention.head_count_kv", 1)
      .integer("llama.feed_forward_length", 6)
      .integer("llama.context_length", 64)
      .real("llama.attention.layer_norm_rms_epsilon", 1e-6F);
  const auto add = [&builder](std::string_view name, const std::vector<std::uint64_t>& sizes) {
    std::uint64_t count = 1;
    for (const std::uint64_t size : sizes) {
      count *= size;
    }
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(i));
    }
    builder.tensor(name, sizes, values);
  };
  add("token_embd.weight", {8, 5});
  add("blk.0.attn_q.weight", {8, 8});
  add("blk.0.attn_k.weight", {8, 4});
  add("blk.0.attn_v.weight", {8, 4});
  add("blk.0.attn_output.weight", {8, 8});
  add("blk.0.ffn_gate.weight", {8, 6});
  add("blk.0.ffn_up.weight", {8, 6});
  add("blk.0.ffn_down.weight", {6, 8});
  add("blk.0.attn_norm.weight", {8});
  add("blk.0.ffn_norm.weight", {8});
  add("output_norm.weight", {8});
  return builder;
}

}  // namespace tunebench::model::testing
