#include "tunebench/model/test_folder.h"

#include <cstring>
#include <set>
#include <utility>

#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"

namespace tunebench::model::testing {
namespace {

void append_value(std::vector<std::byte>& bytes, StoredType type, float value) {
  const auto append = [&bytes](const auto& number) {
    const auto raw = std::as_bytes(std::span(&number, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  switch (type) {
    case StoredType::BF16:
      append(bfloat16_from_float(value));
      break;
    case StoredType::F16:
      append(half_from_float(value));
      break;
    case StoredType::I64:
      append(static_cast<std::int64_t>(value));
      break;
    default:
      append(value);
  }
}

}  // namespace

Json m0_config() {
  Json config = Json::object();
  config.set("architectures", Json::array({"LlamaForCausalLM"}))
      .set("model_type", "llama")
      .set("vocab_size", 260)
      .set("hidden_size", 16)
      .set("intermediate_size", 32)
      .set("num_hidden_layers", 2)
      .set("num_attention_heads", 4)
      .set("num_key_value_heads", 2)
      .set("max_position_embeddings", 512)
      .set("rms_norm_eps", 1e-5)
      .set("rope_theta", 10000.0)
      .set("hidden_act", "silu")
      .set("tie_word_embeddings", true)
      .set("bos_token_id", 1)
      .set("eos_token_id", 2)
      .set("pad_token_id", 0)
      .set("torch_dtype", "float32");
  return config;
}

TensorData tensor_of(std::string name, std::vector<std::int64_t> shape, StoredType type,
                     float start) {
  constexpr float kStep = 1.0F / 64.0F;  // exact in every stored type
  const std::int64_t elements = TensorShape{name, shape}.elements();
  TensorData tensor{std::move(name), type, std::move(shape), {}};
  for (std::int64_t i = 0; i < elements; ++i) {
    append_value(tensor.bytes, type, start + kStep * static_cast<float>(i % 16));
  }
  return tensor;
}

std::vector<TensorData> tensors_of(const ModelSpec& spec, StoredType type) {
  std::vector<TensorData> tensors;
  float start = 0.0F;
  for (TensorShape& tensor : tensor_shapes(spec)) {
    tensors.push_back(tensor_of(std::move(tensor.name), std::move(tensor.shape), type, start));
    start += 0.25F;
  }
  return tensors;
}

void write_tensors(const std::filesystem::path& file, const std::vector<TensorData>& tensors) {
  std::vector<TensorToStore> stored;
  for (const TensorData& tensor : tensors) {
    stored.push_back({tensor.name, tensor.type, tensor.shape, tensor.bytes});
  }
  write_safetensors(file, stored);
}

void write_json(const std::filesystem::path& file, const Json& value) {
  write_file_atomically(file, value.dump());
}

void write_folder(const std::filesystem::path& folder, const Json& config,
                  const std::vector<TensorData>& tensors) {
  std::filesystem::create_directories(folder);
  write_json(folder / "config.json", config);
  write_tensors(folder / "model.safetensors", tensors);
}

Json write_shards(const std::filesystem::path& folder, const std::vector<TensorData>& tensors,
                  std::size_t count) {
  Json map = Json::object();
  for (std::size_t shard = 0; shard < count; ++shard) {
    const std::string name = "model-0000" + std::to_string(shard + 1) + "-of-0000" +
                             std::to_string(count) + ".safetensors";
    std::vector<TensorData> part;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (i * count / tensors.size() == shard) {
        part.push_back(tensors[i]);
        map.set(tensors[i].name, name);
      }
    }
    write_tensors(folder / name, part);
  }
  Json index = Json::object();
  index.set("metadata", Json::object()).set("weight_map", std::move(map));
  write_json(folder / "model.safetensors.index.json", index);
  return index;
}

std::string raw_safetensors(std::string header, std::string_view data) {
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string file;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    file.push_back(static_cast<char>((header.size() >> (8 * byte)) & 0xffU));
  }
  return file + header + std::string(data);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::Internal;
}

WarningCatcher::WarningCatcher() {
  set_log_sink([this](LogLevel level, const std::string& text) {
    if (level == LogLevel::Warning) {
      lines_.push_back(text);
    }
  });
}

WarningCatcher::~WarningCatcher() {
  set_log_sink({});
}

std::string WarningCatcher::text() const {
  return join(lines_, "\n");
}

}  // namespace tunebench::model::testing
