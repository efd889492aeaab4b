#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data::testing_support {

/// tokenizer.json documents, built piece by piece.

inline Json read_json(std::string_view text) {
  return Json::parse(text, "test");
}

/// Tokens numbered from 0.
inline Json vocab(std::initializer_list<std::string_view> tokens) {
  Json object = Json::object();
  std::int64_t id = 0;
  for (const std::string_view token : tokens) {
    object.set(std::string(token), Json(id++));
  }
  return object;
}

inline Json bpe(Json vocabulary, std::initializer_list<std::string_view> merges) {
  Json model = read_json(R"({"type":"BPE","dropout":null,"unk_token":null,"fuse_unk":false,
      "continuing_subword_prefix":null,"end_of_word_suffix":null,"byte_fallback":false,
      "ignore_merges":false})");
  model.set("vocab", std::move(vocabulary));
  Json list = Json::array();
  for (const std::string_view merge : merges) {
    list.push_back(merge);
  }
  model.set("merges", std::move(list));
  return model;
}

inline Json added(std::int64_t id, std::string_view content) {
  Json token = read_json(R"({"single_word":false,"lstrip":false,"rstrip":false,
      "normalized":false,"special":true})");
  token.set("id", id);
  token.set("content", content);
  return token;
}

inline Json document(Json model) {
  Json whole = read_json(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
      "normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null})");
  whole.set("model", std::move(model));
  return whole;
}

inline Json byte_level() {
  return read_json(
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
}

/// The ids of `text` with the special tokens around it.
inline std::vector<std::int32_t> encode(const Json& file, std::string_view text) {
  return parse_tokenizer(file, "t.json")->encode(text, true);
}

}  // namespace tunebench::data::testing_support
