#include "model_folder.h"

#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/random.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::integration {

namespace {

/// UTF-8 of a code point below 0x800.
std::string utf8(unsigned code) {
  if (code < 0x80) {
    return std::string(1, static_cast<char>(code));
  }
  return {static_cast<char>(0xC0U | (code >> 6U)), static_cast<char>(0x80U | (code & 0x3FU))};
}

/// The letter that stands for a byte in byte-level vocabularies: itself when it is printable, else
/// the next one from 256 on.
std::string byte_letter(unsigned byte) {
  const auto printable = [](unsigned value) {
    return (value >= 33 && value <= 126) || (value >= 161 && value <= 172) || value >= 174;
  };
  if (printable(byte)) {
    return utf8(byte);
  }
  unsigned rank = 0;
  for (unsigned other = 0; other < byte; ++other) {
    rank += printable(other) ? 0U : 1U;
  }
  return utf8(256 + rank);
}

Json byte_level_tokenizer() {
  Json vocabulary = Json::object({{"<pad>", 0}, {"<s>", 1}, {"</s>", 2}});
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.set(byte_letter(static_cast<unsigned>(byte)), 3 + byte);
  }
  Json added = Json::array();
  for (const auto& [text, id] :
       {std::pair("<pad>", 0), std::pair("<s>", 1), std::pair("</s>", 2)}) {
    added.push_back(Json::object({{"id", id},
                                  {"content", text},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", true}}));
  }
  const Json byte_level = Json::object({{"type", "ByteLevel"},
                                        {"add_prefix_space", false},
                                        {"trim_offsets", true},
                                        {"use_regex", true}});
  return Json::object({{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", std::move(added)},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", byte_level},
                       {"post_processor", nullptr},
                       {"decoder", byte_level},
                       {"model", Json::object({{"type", "BPE"},
                                               {"dropout", nullptr},
                                               {"unk_token", nullptr},
                                               {"continuing_subword_prefix", nullptr},
                                               {"end_of_word_suffix", nullptr},
                                               {"fuse_unk", false},
                                               {"byte_fallback", false},
                                               {"ignore_merges", false},
                                               {"vocab", std::move(vocabulary)},
                                               {"merges", Json::array()}})}});
}

}  // namespace

void make_model_folder(const std::filesystem::path& folder) {
  model::ModelSpec spec = model::presets().front().spec;
  for (const model::Preset& preset : model::presets()) {
    spec = preset.name == "tiny" ? preset.spec : spec;
  }
  std::vector<std::vector<float>> values;
  std::vector<model::TensorToStore> tensors;
  for (const model::TensorShape& shape : model::tensor_shapes(spec)) {
    std::vector<float>& tensor =
        values.emplace_back(static_cast<std::size_t>(shape.elements()), 1.0F);
    if (shape.shape.size() > 1) {
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        tensor[i] = static_cast<float>(0.05 * normal(7, values.size(), i));
      }
    }
    tensors.push_back({.name = shape.name,
                       .type = model::StoredType::F32,
                       .shape = shape.shape,
                       .bytes = std::as_bytes(std::span(tensor))});
  }
  write_file_atomically(folder / "config.json", model::model_config_json(spec).dump(2));
  write_file_atomically(folder / "tokenizer.json", byte_level_tokenizer().dump());
  model::write_safetensors(folder / "model.safetensors", tensors);
}

}  // namespace tunebench::integration
