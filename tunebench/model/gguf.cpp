#include "tunebench/model/gguf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/model/gguf_blocks.h"
#include "tunebench/model/gguf_file.h"
#include "tunebench/model/gguf_tokenizer.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/rope.h"
#include "tunebench/model/safetensors_writer.h"

namespace tunebench::model {
namespace {

constexpr std::string_view kRopeFactors = "rope_freqs.weight";

struct NamePair {
  std::string_view gguf;
  std::string_view hugging_face;
};
constexpr std::array<NamePair, 9> kBlockNames = {{
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
}};
constexpr std::array<NamePair, 3> kOuterNames = {{
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
}};

/// model.layers.3.mlp.up_proj.weight -> blk.3.ffn_up.weight
std::string gguf_name(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  for (const NamePair& pair : kOuterNames) {
    if (pair.hugging_face == name) {
      return std::string(pair.gguf);
    }
  }
  TB_CHECK(name.starts_with(kLayers));
  const std::string_view rest = name.substr(kLayers.size());
  const std::size_t first = rest.find('.');
  const std::size_t last = rest.rfind('.');
  const std::string_view part = rest.substr(first + 1, last - first - 1);
  const auto pair = std::find_if(kBlockNames.begin(), kBlockNames.end(),
                                 [&](const NamePair& entry) { return entry.hugging_face == part; });
  TB_CHECK(pair != kBlockNames.end());
  return fmt::format("blk.{}.{}{}", rest.substr(0, first), pair->gguf, rest.substr(last));
}

std::int64_t required(const GgufFile& file, std::string_view key) {
  const std::optional<std::int64_t> value = file.integer(key);
  if (!value) {
    throw file.corrupt(fmt::format("has no metadata '{}'", key));
  }
  return *value;
}

std::int64_t embedding_rows(const GgufFile& file) {
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->sizes.size() != 2) {
    throw file.corrupt("has no tensor 'token_embd.weight' of two dimensions");
  }
  return embedding->sizes[1];
}

/// Llama 3 files carry one factor for each frequency in place of the rule that made them. The rule
/// is found again by trying it with the numbers that Meta published.
RopeScaling scaling_from_factors(const GgufFile& file, const GgufTensor& tensor, ModelSpec plain) {
  std::vector<float> factors(static_cast<std::size_t>(plain.head_width / 2));
  const bool fits = tensor.sizes.size() == 1 && tensor.sizes.front() == plain.head_width / 2 &&
                    gguf_type_info(tensor.type).block == 1;
  if (!fits) {
    throw file.corrupt(fmt::format("tensor '{}' is not one factor for each of {} frequencies",
                                   kRopeFactors, plain.head_width / 2));
  }
  decode_gguf_blocks(tensor.type, tensor.bytes, factors);
  const std::vector<double> before = rope_frequencies(plain);
  plain.rope_scaling = {
      .type = RopeScaling::Type::Llama3,
      .factor = static_cast<double>(*std::max_element(factors.begin(), factors.end())),
      .low_freq_factor = 1.0,
      .high_freq_factor = 4.0,
      .original_max_positions = 8192};
  const std::vector<double> after = rope_frequencies(plain);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double stored = before[i] / static_cast<double>(factors[i]);
    if (!(std::abs(stored - after[i]) <= 1e-4 * after[i])) {
      throw file.unsupported(
          fmt::format("tensor '{}' scales frequencies by a rule that is not that "
                      "of Llama 3",
                      kRopeFactors));
    }
  }
  return plain.rope_scaling;
}

RopeScaling read_scaling(const GgufFile& file, const ModelSpec& spec) {
  const std::string_view type = file.text("llama.rope.scaling.type").value_or("none");
  const GgufTensor* factors = file.find_tensor(kRopeFactors);
  if (type == "none" && factors != nullptr) {
    return scaling_from_factors(file, *factors, spec);
  }
  if (type == "none" && !file.has("llama.rope.scale_linear")) {
    return {};
  }
  if (type != "none" && type != "linear") {
    throw file.unsupported(
        fmt::format("llama.rope.scaling.type is '{}'; known are none and linear", printable(type)));
  }
  const std::optional<double> factor = type == "linear" ? file.real("llama.rope.scaling.factor")
                                                        : file.real("llama.rope.scale_linear");
  if (!factor || factors != nullptr) {
    throw file.corrupt("says that positions are scaled, but not by what");
  }
  return {.type = RopeScaling::Type::Linear, .factor = *factor};
}

void refuse_what_is_not_llama(const GgufFile& file) {
  const std::string_view architecture = file.text("general.architecture").value_or("");
  if (architecture != "llama") {
    throw file.unsupported(
        fmt::format("general.architecture is '{}'; only llama is read", printable(architecture)));
  }
  if (file.integer("llama.expert_count").value_or(0) != 0) {
    throw file.unsupported("llama.expert_count is not 0; mixtures of experts are not supported");
  }
  for (const char* key :
       {"llama.attention.sliding_window", "llama.logit_scale", "llama.attention.scale",
        "llama.residual_scale", "llama.embedding_scale"}) {
    if (file.has(key)) {
      throw file.unsupported(fmt::format("metadata '{}' is not supported", key));
    }
  }
}

/// Goes through config.json's own reader, so that a GGUF file is held to the same limits.
ModelSpec read_spec(const GgufFile& file, const ImportedTokenizer& tokenizer) {
  refuse_what_is_not_llama(file);
  ModelSpec spec;
  spec.model_type = "llama";
  spec.vocabulary = embedding_rows(file);
  spec.width = required(file, "llama.embedding_length");
  spec.layers = required(file, "llama.block_count");
  spec.heads = required(file, "llama.attention.head_count");
  spec.kv_heads = file.integer("llama.attention.head_count_kv").value_or(spec.heads);
  spec.feed_forward = required(file, "llama.feed_forward_length");
  spec.max_positions = required(file, "llama.context_length");
  const bool divides = spec.heads > 0 && spec.width % spec.heads == 0;
  spec.head_width =
      file.integer("llama.attention.key_length").value_or(divides ? spec.width / spec.heads : 0);
  spec.norm_epsilon = file.real("llama.attention.layer_norm_rms_epsilon").value_or(1e-5);
  spec.rope_theta = file.real("llama.rope.freq_base").value_or(10000.0);
  spec.stored_dtype = "bfloat16";
  spec.tied_head = file.find_tensor("output.weight") == nullptr;
  spec.qkv_bias = file.find_tensor("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find_tensor("blk.0.attn_output.bias") != nullptr;
  spec.mlp_bias = file.find_tensor("blk.0.ffn_up.bias") != nullptr;
  spec.bos_token = tokenizer.bos;
  spec.pad_token = tokenizer.pad;
  if (tokenizer.eos) {
    spec.eos_tokens = {*tokenizer.eos};
  }
  if (tokenizer.tokens > spec.vocabulary) {
    throw file.corrupt(fmt::format("has {} tokens, but the embedding has {} rows", tokenizer.tokens,
                                   spec.vocabulary));
  }
  spec = parse_model_config(model_config_json(spec), file.label());
  for (const char* key : {"llama.rope.dimension_count", "llama.attention.value_length"}) {
    if (file.integer(key).value_or(spec.head_width) != spec.head_width) {
      throw file.unsupported(
          fmt::format("{} is {}, but a head is {} wide", key, *file.integer(key), spec.head_width));
    }
  }
  spec.rope_scaling = read_scaling(file, spec);
  return parse_model_config(model_config_json(spec), file.label());
}

/// A tensor to convert. GGUF keeps the rows of q and k of each head as pairs (0, E/2), (1, E/2 +
/// 1),
/// ..., Hugging Face as two halves.
struct Conversion {
  TensorShape target;
  const GgufTensor* source = nullptr;
  bool paired_rows = false;
};

bool has_paired_rows(std::string_view name) {
  return name.find(".self_attn.q_proj.") != std::string_view::npos ||
         name.find(".self_attn.k_proj.") != std::string_view::npos;
}

std::vector<Conversion> plan_conversions(const GgufFile& file, const ModelSpec& spec) {
  std::vector<Conversion> conversions;
  std::set<std::string> used = {std::string(kRopeFactors)};
  for (TensorShape& target : tensor_shapes(spec)) {
    const std::string name = gguf_name(target.name);
    const GgufTensor* source = file.find_tensor(name);
    if (source == nullptr) {
      throw file.corrupt(fmt::format("has no tensor '{}'", name));
    }
    const std::vector<std::int64_t> sizes(target.shape.rbegin(), target.shape.rend());
    if (source->sizes != sizes) {
      throw file.corrupt(fmt::format("tensor '{}' is [{}], the metadata asks for [{}]", name,
                                     fmt::join(source->sizes, ", "), fmt::join(sizes, ", ")));
    }
    used.insert(name);
    const bool paired = has_paired_rows(target.name);
    if (paired && target.shape.size() == 1 && gguf_type_info(source->type).block != 1) {
      throw file.unsupported(fmt::format("tensor '{}' is a bias in blocks", name));
    }
    conversions.push_back({std::move(target), source, paired});
  }
  for (const GgufTensor& tensor : file.tensors()) {
    if (!used.contains(tensor.name)) {
      throw file.unsupported(
          fmt::format("tensor '{}' has no place in a Llama", printable(tensor.name)));
    }
  }
  return conversions;
}

/// Which row of the GGUF tensor is row `row` here.
std::int64_t paired_row(std::int64_t row, std::int64_t head_width) {
  const std::int64_t head = row / head_width;
  const std::int64_t place = row % head_width;
  const std::int64_t half = place / (head_width / 2);
  return head * head_width + 2 * (place % (head_width / 2)) + half;
}

void convert_tensor(const Conversion& conversion, std::int64_t head_width,
                    SafetensorsWriter& writer) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
  // A bias moves element by element, a matrix row by row; a norm is one row.
  const bool matrix = conversion.target.shape.size() == 2;
  const std::int64_t columns = matrix                   ? conversion.target.shape[1]
                               : conversion.paired_rows ? 1
                                                        : conversion.target.shape[0];
  const std::int64_t rows = conversion.target.elements() / columns;
  const GgufTypeInfo& info = gguf_type_info(conversion.source->type);
  const std::size_t row_bytes = static_cast<std::size_t>(columns) / info.block * info.bytes;
  std::vector<float> values(static_cast<std::size_t>(columns));
  std::vector<std::uint16_t> piece;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t from = conversion.paired_rows ? paired_row(row, head_width) : row;
    decode_gguf_blocks(
        conversion.source->type,
        conversion.source->bytes.subspan(static_cast<std::size_t>(from) * row_bytes, row_bytes),
        values);
    std::transform(values.begin(), values.end(), std::back_inserter(piece), bfloat16_from_float);
    if (piece.size() * sizeof piece.front() >= kPieceBytes || row + 1 == rows) {
      writer.append(std::as_bytes(std::span(piece)));
      piece.clear();
    }
  }
}

/// The folder under a temporary name beside its place, until it is complete.
class FolderInTheMaking {
 public:
  explicit FolderInTheMaking(const std::filesystem::path& target)
      : target_(std::filesystem::absolute(target).lexically_normal()) {
    if (!target_.has_filename()) {
      target_ = target_.parent_path();
    }
    std::error_code problem;
    if (std::filesystem::exists(target_, problem) &&
        !(std::filesystem::is_directory(target_, problem) &&
          std::filesystem::is_empty(target_, problem))) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: exists and is not an empty folder; name another one",
                              display_path(target)));
    }
    std::filesystem::create_directories(target_.parent_path(), problem);
    std::string name = (target_.parent_path() / ".importing-XXXXXX").string();
    if (problem || ::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorCode::Io, fmt::format("{}: cannot be created: {}", display_path(target),
                                             problem ? problem.message()
                                                     : std::generic_category().message(errno)));
    }
    path_ = name;
  }
  ~FolderInTheMaking() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderInTheMaking(const FolderInTheMaking&) = delete;
  FolderInTheMaking& operator=(const FolderInTheMaking&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void complete() {
    std::error_code problem;
    std::filesystem::permissions(path_, std::filesystem::perms(0755), problem);
    std::filesystem::rename(path_, target_, problem);  // over an empty folder, too
    if (problem) {
      throw Error(ErrorCode::Io, fmt::format("{}: cannot be put into place: {}",
                                             display_path(target_), problem.message()));
    }
  }

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
};

}  // namespace

ImportSummary import_gguf(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const GgufFile gguf(file);
  const ImportedTokenizer tokenizer = import_tokenizer(gguf);
  const ModelSpec spec = read_spec(gguf, tokenizer);
  const std::vector<Conversion> conversions = plan_conversions(gguf, spec);

  FolderInTheMaking making(folder);
  constexpr int kIndent = 2;
  write_file_atomically(making.path() / "config.json",
                        model_config_json(spec).dump(kIndent) + "\n");
  write_file_atomically(making.path() / "tokenizer.json", tokenizer.tokenizer.dump(kIndent) + "\n");
  write_file_atomically(making.path() / "tokenizer_config.json",
                        tokenizer.tokenizer_config.dump(kIndent) + "\n");
  std::vector<AnnouncedTensor> announced;
  for (const Conversion& conversion : conversions) {
    announced.push_back({conversion.target.name, StoredType::BF16, conversion.target.shape});
  }
  SafetensorsWriter writer(making.path() / "model.safetensors", announced);
  for (const Conversion& conversion : conversions) {
    convert_tensor(conversion, spec.head_width, writer);
    gguf.release_pages(*conversion.source);
  }
  writer.finish();
  making.complete();
  return {.tensors = static_cast<std::int64_t>(conversions.size()),
          .parameters = parameter_count(spec),
          .stored_dtype = spec.stored_dtype,
          .vocabulary = spec.vocabulary};
}

}  // namespace tunebench::model
