#include "tunebench/model/weight_check.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/text_side.h"

namespace tunebench::model {
namespace {

std::string head_of(const ModelSpec& spec) {
  return spec.tensor_prefix + std::string(family_of(spec).names.head) + ".weight";
}

bool is_qkv_bias(std::string_view name, const ModelSpec& spec) {
  name.remove_prefix(name.starts_with(spec.tensor_prefix) ? spec.tensor_prefix.size() : 0);
  return name.starts_with("model.layers.") &&
         (name.ends_with(".self_attn.q_proj.bias") || name.ends_with(".self_attn.k_proj.bias") ||
          name.ends_with(".self_attn.v_proj.bias"));
}

/// Frequencies that older versions of transformers stored; they follow from config.json.
bool is_leftover(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

/// The parts into which GPTQ and AWQ take a matrix apart.
void refuse_quantized(const SafetensorsSet& weights, const std::string& where) {
  for (const StoredTensor& tensor : weights.tensors()) {
    if (tensor.name.ends_with(".qweight") || tensor.name.ends_with(".qzeros") ||
        tensor.name.ends_with(".g_idx")) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: tensor '{}' is a part of GPTQ or AWQ quantized weights, which "
                              "this program does not train; give the model in F32, F16 or BF16",
                              where, excerpt(tensor.name)));
    }
  }
}

void decide_qkv_bias(const SafetensorsSet& weights, const std::string& where, ModelSpec& spec) {
  if (spec.model_type != "llama" && spec.model_type != "qwen2") {
    return;
  }
  const bool stored =
      std::any_of(weights.tensors().begin(), weights.tensors().end(),
                  [&](const StoredTensor& tensor) { return is_qkv_bias(tensor.name, spec); });
  if (stored && !spec.qkv_bias) {
    log_warning(
        fmt::format("{}: q, k and v biases are stored although config.json does not "
                    "announce them; they are used",
                    where));
    spec.qkv_bias = true;
  } else if (!stored && spec.qkv_bias && spec.model_type == "qwen2") {
    log_warning(
        fmt::format("{}: no q, k and v biases are stored, though qwen2 has them; trained "
                    "without",
                    where));
    spec.qkv_bias = false;
  }
}

void check_expected(const SafetensorsSet& weights, const std::string& where,
                    const std::vector<TensorShape>& expected, const std::string& head) {
  std::vector<std::string> missing;
  for (const TensorShape& tensor : expected) {
    const StoredTensor* stored = find_weight(weights, tensor.name);
    if (stored == nullptr) {
      missing.push_back(tensor.name);
      continue;
    }
    if (stored->shape != tensor.shape) {
      throw Error(
          ErrorCode::InvalidInput,
          fmt::format("{}: tensor '{}' is [{}], config.json asks for [{}]", where, tensor.name,
                      fmt::join(stored->shape, ", "), fmt::join(tensor.shape, ", ")));
    }
    if (stored->type != StoredType::F32 && stored->type != StoredType::F16 &&
        stored->type != StoredType::BF16) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: tensor '{}' is {}; weights are read from F32, F16 and BF16",
                              where, tensor.name, stored_type_name(stored->type)));
    }
  }
  if (!missing.empty()) {
    const std::string more =
        missing.size() > 1 ? fmt::format(" and {} more are", missing.size() - 1) : " is";
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("{}: tensor '{}'{} missing from the weights{}", where, missing.front(), more,
                    missing.front() == head ? "; config.json says tie_word_embeddings false" : ""));
  }
}

bool same_values(const SafetensorsSet& weights, const StoredTensor& a, const StoredTensor& b) {
  if (a.shape != b.shape) {
    return false;
  }
  if (a.type == b.type) {
    return a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
  }
  std::vector<float> left(static_cast<std::size_t>(a.elements()));
  std::vector<float> right(left.size());
  weights.read_float32(a, left);
  weights.read_float32(b, right);
  return left == right;
}

void check_unexpected(const SafetensorsSet& weights, const std::string& where,
                      const std::vector<TensorShape>& expected, const ModelSpec& spec) {
  std::set<std::string_view> names;
  for (const TensorShape& tensor : expected) {
    names.insert(find_weight(weights, tensor.name)->name);
  }
  const std::string embedding =
      spec.tensor_prefix + std::string(family_of(spec).names.embedding) + ".weight";
  const std::string head = head_of(spec);
  std::int64_t leftovers = 0;
  std::int64_t images = 0;
  for (const StoredTensor& tensor : weights.tensors()) {
    if (names.contains(tensor.name)) {
      continue;
    }
    if (is_leftover(tensor.name)) {
      ++leftovers;
    } else if (!spec.tensor_prefix.empty() && looks_at_images(tensor.name)) {
      ++images;
    } else if (tensor.name == head && spec.tied_head) {
      if (!same_values(weights, tensor, *find_weight(weights, embedding))) {
        log_warning(
            fmt::format("{}: the stored {} differs from the embedding; config.json ties "
                        "them, so the embedding is used",
                        where, head));
      }
    } else {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: tensor '{}' has no place in a {} of the shape that config.json "
                              "tells",
                              where, excerpt(tensor.name), spec.model_type));
    }
  }
  if (images > 0) {
    log_warning(
        fmt::format("{}: {} tensors that look at images are not read; the text side alone "
                    "is trained",
                    where, images));
  }
  if (leftovers > 0) {
    log_warning(
        fmt::format("{}: {} stored rotary_emb.inv_freq are ignored; the frequencies follow "
                    "from config.json",
                    where, leftovers));
  }
}

}  // namespace

const StoredTensor* find_weight(const SafetensorsSet& weights, std::string_view name) {
  const StoredTensor* stored = weights.find(name);
  const std::size_t prefix = name.find('.');
  return stored != nullptr || prefix == std::string_view::npos
             ? stored
             : weights.find(name.substr(prefix + 1));
}

void match_weights(const SafetensorsSet& weights, const std::filesystem::path& folder,
                   ModelSpec& spec) {
  const std::string where = display_path(folder);
  refuse_quantized(weights, where);
  decide_qkv_bias(weights, where, spec);
  const std::vector<TensorShape> expected = tensor_shapes(spec);
  check_expected(weights, where, expected, head_of(spec));
  check_unexpected(weights, where, expected, spec);
}

}  // namespace tunebench::model
