#include "tunebench/model/gguf_tokenizer.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/log.h"
#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

// tokenizer.ggml.token_type
constexpr std::int64_t kControl = 3;
constexpr std::int64_t kUserDefined = 4;

Json byte_level(bool use_regex) {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", true},
                       {"use_regex", use_regex}});
}

Json split_then_bytes(std::string_view digits) {
  // As the tokenizer.json files of Llama 3 and Qwen2 state it; they differ in how digits group.
  const std::string regex = fmt::format(
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|{}| "
      "?[^\\s\\p{{L}}\\p{{N}}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      digits);
  Json split = Json::object({{"type", "Split"},
                             {"pattern", Json::object({{"Regex", regex}})},
                             {"behavior", "Isolated"},
                             {"invert", false}});
  return Json::object({{"type", "Sequence"},
                       {"pretokenizers", Json::array({std::move(split), byte_level(false)})}});
}

/// How text is split before merging, and what comes with it.
struct Splitting {
  Json normalizer = nullptr;
  Json pre_tokenizer;
  bool ignore_merges = false;
  bool adds_bos = false;  ///< unless the file says otherwise
};

Splitting splitting_of(const GgufFile& file) {
  const std::string_view pre = file.text("tokenizer.ggml.pre").value_or("");
  if (pre == "smollm") {
    // llama.cpp cuts digits out first, transformers reads the same file without. Each digit is a
    // token of its own either way; they differ in which token takes the blanks before a digit. The
    // losses that an import is compared with come from transformers.
    return {.pre_tokenizer = byte_level(true)};
  }
  if (pre == "llama-bpe" || pre == "llama-v3" || pre == "llama3") {
    return {
        .pre_tokenizer = split_then_bytes("\\p{N}{1,3}"), .ignore_merges = true, .adds_bos = true};
  }
  if (pre == "qwen2") {
    return {.normalizer = Json::object({{"type", "NFC"}}),
            .pre_tokenizer = split_then_bytes("\\p{N}")};
  }
  if (pre == "gpt-2" || pre == "default" || pre.empty()) {
    if (pre != "gpt-2") {
      log_warning(
          fmt::format("{}: does not tell how text is split (tokenizer.ggml.pre); split as "
                      "GPT-2 does",
                      file.label()));
    }
    return {.pre_tokenizer = byte_level(true)};
  }
  throw file.unsupported(
      fmt::format("tokenizer.ggml.pre is '{}'; known are gpt-2, smollm, llama-bpe "
                  "and qwen2",
                  printable(pre)));
}

Json added_token(std::int64_t id, std::string_view content, bool special) {
  return Json::object({{"id", id},
                       {"content", content},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", special}});
}

void check_tokens(const GgufFile& file, const std::vector<std::string_view>& tokens) {
  std::unordered_set<std::string_view> seen;
  for (const std::string_view token : tokens) {
    if (token.empty() || !is_valid_utf8(token)) {
      throw file.corrupt(
          fmt::format("tokenizer.ggml.tokens holds '{}', which is not text", printable(token)));
    }
    if (!seen.insert(token).second) {
      throw file.corrupt(fmt::format("tokenizer.ggml.tokens holds '{}' twice", printable(token)));
    }
  }
}

Json merges_json(const GgufFile& file, const std::vector<std::string_view>& tokens) {
  const std::unordered_set<std::string_view> known(tokens.begin(), tokens.end());
  Json::Array merges;
  const auto stated = file.texts("tokenizer.ggml.merges");
  if (!stated) {
    throw file.corrupt("has no tokenizer.ggml.merges");
  }
  for (const std::string_view merge : *stated) {
    const std::size_t space = merge.find(' ', 1);
    const std::string_view left = merge.substr(0, space);
    const std::string_view right =
        space == std::string_view::npos ? std::string_view() : merge.substr(space + 1);
    if (!known.contains(left) || !known.contains(right) ||
        !known.contains(std::string(left) + std::string(right))) {
      throw file.corrupt(
          fmt::format("tokenizer.ggml.merges holds '{}', whose parts or result are "
                      "not tokens",
                      printable(merge)));
    }
    merges.emplace_back(merge);
  }
  return merges;
}

Json added_tokens_json(const GgufFile& file, const std::vector<std::string_view>& tokens) {
  Json::Array added;
  const auto types = file.integers("tokenizer.ggml.token_type");
  if (!types) {
    return added;
  }
  if (types->size() != tokens.size()) {
    throw file.corrupt(fmt::format("tokenizer.ggml.token_type has {} entries for {} tokens",
                                   types->size(), tokens.size()));
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::int64_t type = (*types)[id];
    if (type == kControl || type == kUserDefined) {
      added.push_back(added_token(static_cast<std::int64_t>(id), tokens[id], type == kControl));
    }
  }
  return added;
}

std::optional<std::int64_t> special_id(const GgufFile& file, std::string_view name,
                                       std::size_t tokens) {
  const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
  const std::optional<std::int64_t> id = file.integer(key);
  if (id && (*id < 0 || static_cast<std::uint64_t>(*id) >= tokens)) {
    throw file.corrupt(fmt::format("{} is {}, but there are {} tokens", key, *id, tokens));
  }
  return id;
}

Json sequence_part(std::string_view id, std::int64_t type_id) {
  return Json::object({{"Sequence", Json::object({{"id", id}, {"type_id", type_id}})}});
}

Json post_processor_json(const GgufFile& file, const Splitting& splitting,
                         const ImportedTokenizer& imported,
                         const std::vector<std::string_view>& tokens) {
  const bool bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(splitting.adds_bos);
  const bool eos = file.boolean("tokenizer.ggml.add_eos_token").value_or(false);
  if ((bos && !imported.bos) || (eos && !imported.eos)) {
    throw file.corrupt("adds a begin or end token that it does not name");
  }
  if (!bos && !eos) {
    return nullptr;
  }
  Json special_tokens = Json::object();
  const auto special_part = [&](std::int64_t id, std::int64_t type_id) {
    const std::string text(tokens[static_cast<std::size_t>(id)]);
    special_tokens.set(
        text,
        Json::object({{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}}));
    return Json::object({{"SpecialToken", Json::object({{"id", text}, {"type_id", type_id}})}});
  };
  const auto framed = [&](Json::Array& parts, std::string_view id, std::int64_t type_id) {
    if (bos) {
      parts.push_back(special_part(*imported.bos, type_id));
    }
    parts.push_back(sequence_part(id, type_id));
    if (eos) {
      parts.push_back(special_part(*imported.eos, type_id));
    }
  };
  Json::Array single;
  framed(single, "A", 0);
  Json::Array pair;
  framed(pair, "A", 0);
  framed(pair, "B", 1);
  return Json::object({{"type", "TemplateProcessing"},
                       {"single", std::move(single)},
                       {"pair", std::move(pair)},
                       {"special_tokens", std::move(special_tokens)}});
}

Json config_json(const GgufFile& file, const ImportedTokenizer& imported,
                 const std::vector<std::string_view>& tokens) {
  Json config = Json::object();
  config.set("tokenizer_class", "PreTrainedTokenizerFast")
      .set("clean_up_tokenization_spaces", false);
  const auto name = [&](std::string key, const std::optional<std::int64_t>& id) {
    if (id) {
      config.set(std::move(key), tokens[static_cast<std::size_t>(*id)]);
    }
  };
  name("bos_token", imported.bos);
  name("eos_token", imported.eos);
  name("pad_token", imported.pad);
  const auto chat = file.text("tokenizer.chat_template");
  if (chat && is_valid_utf8(*chat)) {
    config.set("chat_template", *chat);
  }
  return config;
}

}  // namespace

ImportedTokenizer import_tokenizer(const GgufFile& file) {
  const std::string_view kind = file.text("tokenizer.ggml.model").value_or("");
  if (kind != "gpt2") {
    throw file.unsupported(
        fmt::format("tokenizer.ggml.model is '{}'; only gpt2 (byte-level BPE) is "
                    "read",
                    printable(kind)));
  }
  const auto tokens = file.texts("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty()) {
    throw file.corrupt("has no tokenizer.ggml.tokens");
  }
  check_tokens(file, *tokens);
  Splitting splitting = splitting_of(file);

  ImportedTokenizer imported;
  imported.tokens = static_cast<std::int64_t>(tokens->size());
  imported.bos = special_id(file, "bos", tokens->size());
  imported.eos = special_id(file, "eos", tokens->size());
  imported.pad = special_id(file, "padding", tokens->size());

  Json::Object vocabulary;
  for (std::size_t id = 0; id < tokens->size(); ++id) {
    vocabulary.emplace_back((*tokens)[id], static_cast<std::int64_t>(id));
  }
  Json bpe = Json::object({{"type", "BPE"},
                           {"dropout", nullptr},
                           {"unk_token", nullptr},
                           {"continuing_subword_prefix", nullptr},
                           {"end_of_word_suffix", nullptr},
                           {"fuse_unk", false},
                           {"byte_fallback", false},
                           {"ignore_merges", splitting.ignore_merges}});
  bpe.as_object().emplace_back("vocab", std::move(vocabulary));
  bpe.as_object().emplace_back("merges", merges_json(file, *tokens));

  Json post_processor = post_processor_json(file, splitting, imported, *tokens);
  imported.tokenizer = Json::object({{"version", "1.0"},
                                     {"truncation", nullptr},
                                     {"padding", nullptr},
                                     {"added_tokens", added_tokens_json(file, *tokens)},
                                     {"normalizer", std::move(splitting.normalizer)},
                                     {"pre_tokenizer", std::move(splitting.pre_tokenizer)},
                                     {"post_processor", std::move(post_processor)},
                                     {"decoder", byte_level(true)},
                                     {"model", std::move(bpe)}});
  imported.tokenizer_config = config_json(file, imported, *tokens);
  return imported;
}

}  // namespace tunebench::model
