#include "tunebench/model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/json.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/model/safetensors_header.h"
#include "tunebench/model/safetensors_writer.h"

namespace tunebench::model {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

[[noreturn]] void no_weights(const std::filesystem::path& folder) {
  const std::string where = display_path(folder);
  bool pickle = false;
  bool gguf = false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    pickle = pickle || (name.starts_with("pytorch_model") && name.ends_with(".bin"));
    gguf = gguf || name.ends_with(".gguf");
  }
  if (pickle) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: holds pytorch_model.bin only, which is not read; convert it: load "
                            "the model with transformers and save_pretrained(FOLDER, "
                            "safe_serialization=True)",
                            where));
  }
  throw Error(
      ErrorCode::NotFound,
      fmt::format("{}: has neither {} nor {}{}", where, kSingle, kIndex,
                  gguf ? "; import its GGUF file: tunebench models import FILE FOLDER" : ""));
}

/// tensor name -> file name, in the order of the index.
using WeightMap = std::vector<std::pair<std::string, std::string>>;

WeightMap read_index(const std::filesystem::path& path) {
  const std::string label = display_path(path);
  const Json index = read_json_file(path);
  const Json* map = index.find("weight_map");
  if (map == nullptr || !map->is_object() || map->as_object().empty()) {
    throw Error(ErrorCode::Corrupt, fmt::format("{}: has no weight_map of tensors", label));
  }
  WeightMap weights;
  for (const auto& [tensor, file] : map->as_object()) {
    const bool plain = file.is_string() && !file.as_string().empty() &&
                       file.as_string().find('/') == std::string::npos && file.as_string() != "." &&
                       file.as_string() != "..";
    if (!plain) {
      throw Error(
          ErrorCode::Corrupt,
          fmt::format("{}: weight_map names {} for tensor '{}', expected the name of a file "
                      "beside it",
                      label, excerpt(file.dump()), excerpt(tensor)));
    }
    weights.emplace_back(tensor, file.as_string());
  }
  return weights;
}

std::vector<std::string> shard_names(const WeightMap& weights) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : weights) {
    names.insert(file);
  }
  return {names.begin(), names.end()};
}

void check_shards_exist(const std::filesystem::path& folder,
                        const std::vector<std::string>& shards) {
  std::vector<std::string> absent;
  for (const std::string& shard : shards) {
    if (!is_there(folder / shard)) {
      absent.push_back(excerpt(shard));
    }
  }
  if (!absent.empty()) {
    throw Error(ErrorCode::NotFound,
                fmt::format("{}: names {} absent of {} shards: {}", display_path(folder / kIndex),
                            absent.size(), shards.size(), join(absent, ", ")));
  }
}

template <typename Convert>
void convert_16_bit(std::span<const std::byte> from, std::span<float> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from.data() + 2 * i, sizeof bits);
    to[i] = convert(bits);
  }
}

void convert(StoredType type, std::span<const std::byte> from, std::span<float> to) {
  if (type == StoredType::F32) {
    std::memcpy(to.data(), from.data(), from.size());
  } else if (type == StoredType::BF16) {
    convert_16_bit(from, to, [](std::uint16_t bits) {
      const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16U;
      return std::bit_cast<float>(wide);
    });
  } else {
    convert_16_bit(from, to, float_from_half);
  }
}

}  // namespace

std::int64_t StoredTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    product *= size;
  }
  return product;
}

void SafetensorsSet::add_file(const std::filesystem::path& path) {
  auto file = std::make_shared<MappedFile>(path);
  const std::string label = display_path(path);
  SafetensorsHeader header = read_safetensors_header(file->text(), label);
  fingerprint_ = sha256_hex(fmt::format("{}\n{}\n{}", fingerprint_, file->bytes().size(),
                                        sha256_hex(file->text().substr(0, header.bytes))));
  for (HeaderEntry& entry : header.entries) {
    const auto [place, added] = by_name_.emplace(entry.name, tensors_.size());
    if (!added) {
      throw Error(
          ErrorCode::Corrupt,
          fmt::format("{}: duplicate tensor name '{}', also in {}", label, excerpt(entry.name),
                      display_path(files_[tensors_[place->second].file]->path())));
    }
    tensors_.push_back({.name = std::move(entry.name),
                        .type = entry.type,
                        .shape = std::move(entry.shape),
                        .bytes = file->bytes().subspan(entry.begin, entry.end - entry.begin),
                        .file = files_.size()});
  }
  files_.push_back(std::move(file));
}

SafetensorsSet SafetensorsSet::open_file(const std::filesystem::path& file) {
  SafetensorsSet set;
  set.add_file(file);
  return set;
}

SafetensorsSet SafetensorsSet::open_folder(const std::filesystem::path& folder) {
  if (is_there(folder / kSingle)) {
    return open_file(folder / kSingle);
  }
  if (!is_there(folder / kIndex)) {
    no_weights(folder);
  }
  const WeightMap weights = read_index(folder / kIndex);
  const std::vector<std::string> shards = shard_names(weights);
  check_shards_exist(folder, shards);
  SafetensorsSet set;
  for (const std::string& shard : shards) {
    set.add_file(folder / shard);
  }
  set.check_index(weights, shards, display_path(folder / kIndex));
  return set;
}

void SafetensorsSet::check_index(std::span<const std::pair<std::string, std::string>> weights,
                                 std::span<const std::string> shards,
                                 const std::string& label) const {
  std::set<std::string_view> promised;
  for (const auto& [name, shard] : weights) {
    promised.insert(name);
    const StoredTensor* tensor = find(name);
    if (tensor == nullptr) {
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{}: promises tensor '{}' in {}, which does not hold it", label,
                              excerpt(name), excerpt(shard)));
    }
    if (shards[tensor->file] != shard) {
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{}: promises tensor '{}' in {}, it is in {}", label, excerpt(name),
                              excerpt(shard), excerpt(shards[tensor->file])));
    }
  }
  std::vector<std::string> unlisted;
  for (const StoredTensor& tensor : tensors_) {
    if (!promised.contains(tensor.name)) {
      unlisted.push_back(excerpt(tensor.name));
    }
  }
  if (!unlisted.empty()) {
    log_warning(fmt::format("{}: does not list {} of the tensors found: {}", label, unlisted.size(),
                            unlisted.front()));
  }
}

const StoredTensor* SafetensorsSet::find(std::string_view name) const {
  const auto place = by_name_.find(name);
  return place == by_name_.end() ? nullptr : &tensors_[place->second];
}

std::vector<std::filesystem::path> SafetensorsSet::paths() const {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : files_) {
    paths.push_back(file->path());
  }
  return paths;
}

void SafetensorsSet::read_float32(const StoredTensor& tensor, std::span<float> out) const {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;  // elements between releases
  const MappedFile& file = *files_[tensor.file];
  if (tensor.type != StoredType::F32 && tensor.type != StoredType::F16 &&
      tensor.type != StoredType::BF16) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: tensor '{}' is {}; weights are read from F32, F16 and BF16",
                            display_path(file.path()), excerpt(tensor.name),
                            stored_type_name(tensor.type)));
  }
  TB_CHECK(static_cast<std::int64_t>(out.size()) == tensor.elements());
  const std::size_t element = static_cast<std::size_t>(stored_type_bytes(tensor.type));
  const std::size_t start = static_cast<std::size_t>(tensor.bytes.data() - file.bytes().data());
  for (std::size_t done = 0; done < out.size(); done += kPiece) {
    const std::size_t count = std::min(kPiece, out.size() - done);
    convert(tensor.type, tensor.bytes.subspan(done * element, count * element),
            out.subspan(done, count));
    file.release_pages(start + done * element, count * element);
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToStore> tensors) {
  std::vector<AnnouncedTensor> announced;
  for (const TensorToStore& tensor : tensors) {
    announced.push_back({tensor.name, tensor.type, tensor.shape});
  }
  SafetensorsWriter writer(path, announced);
  for (const TensorToStore& tensor : tensors) {
    writer.append(tensor.bytes);
  }
  writer.finish();
}

}  // namespace tunebench::model
