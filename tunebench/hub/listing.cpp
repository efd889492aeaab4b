#include "tunebench/hub/listing.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::hub {

namespace {

constexpr std::size_t kShaDigits = 64;
constexpr std::size_t kGitDigits = 40;
constexpr std::int64_t kLargestFile = std::int64_t{1} << 50;
constexpr std::size_t kMostFiles = 100'000;

[[noreturn]] void no_listing(std::string_view origin, const std::string& what) {
  throw Error(ErrorCode::Corrupt, fmt::format("{}: {}", printable(origin), what));
}

/// A path below the model's folder, whatever the system makes of it.
bool is_inside_name(std::string_view name) {
  if (name.empty() || name.size() > 1000 || !is_valid_utf8(name) ||
      name.find('\\') != std::string_view::npos || std::ranges::any_of(name, [](char letter) {
        return (letter >= 0 && letter < ' ') || letter == '\x7f';
      })) {
    return false;
  }
  return std::ranges::all_of(split(name, '/'), [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= 255;
  });
}

/// The member, or null.
const Json& member_of(const Json& object, std::string_view key) {
  static const Json none;
  const Json* value = object.find(key);
  return value == nullptr ? none : *value;
}

RemoteFile remote_file(const Json& sibling, std::string_view origin) {
  const Json& name = member_of(sibling, "rfilename");
  if (!name.is_string() || !is_inside_name(name.as_string())) {
    no_listing(origin, fmt::format("lists {}, which is no name of a file inside a model",
                                   excerpt(name.dump())));
  }
  const Json& large = member_of(sibling, "lfs");
  const Json& hash = large.is_object() ? member_of(large, "sha256") : member_of(sibling, "blobId");
  const Json& size = large.is_object() ? member_of(large, "size") : member_of(sibling, "size");
  RemoteFile file{.name = name.as_string()};
  if (!hash.is_string() || !is_hex(hash.as_string(), large.is_object() ? kShaDigits : kGitDigits) ||
      !size.is_int() || size.as_int() < 0 || size.as_int() > kLargestFile) {
    no_listing(origin, fmt::format("tells no size and hash of {} (size {}, hash {})",
                                   excerpt(file.name), excerpt(size.dump()), excerpt(hash.dump())));
  }
  file.bytes = size.as_int();
  file.hash = hash.as_string();
  return file;
}

bool is_weights(std::string_view name) {
  return name == "model.safetensors" || name == kIndexName;
}

/// Small files beside the weights that trainers and tokenizers read.
bool is_companion(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return false;
  }
  static const std::set<std::string_view> kNames = {
      "README.md",  "LICENSE",   "LICENSE.txt",     "LICENSE.md",   "NOTICE",
      "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};
  const bool other_index = name.ends_with(".index.json") && name != kIndexName;
  return kNames.contains(name) || name.ends_with(".jinja") ||
         (name.ends_with(".json") && !other_index && !name.starts_with("adapter_"));
}

[[noreturn]] void has_no_weights(const Listing& listing) {
  const auto some = [&](auto matches) {
    return std::ranges::any_of(listing.files, [&](const RemoteFile& f) { return matches(f.name); });
  };
  const std::string model = listing.model.text();
  if (some([](const std::string& name) { return name.starts_with("pytorch_model"); })) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("{} has its weights as pytorch_model.bin only, a format that can run code and "
                    "is not read; convert it where you trust it: python -c \"from transformers "
                    "import AutoModelForCausalLM as M; M.from_pretrained('{}').save_pretrained("
                    "'DIR')\", and give DIR",
                    model, model));
  }
  if (some([](const std::string& name) { return name.starts_with("adapter_"); })) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} is an adapter, not a model; get its base model, which its "
                            "adapter_config.json names",
                            model));
  }
  if (some([](const std::string& name) { return name.ends_with(".gguf"); })) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} has GGUF files only; take one and: tunebench models import "
                            "FILE.gguf DIR",
                            model));
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("{} has neither model.safetensors nor {}", model, kIndexName));
}

}  // namespace

const RemoteFile* Listing::find(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &RemoteFile::name);
  return found == files.end() ? nullptr : &*found;
}

Listing parse_listing(const Json& answer, const RepoId& model, std::string_view origin) {
  const Json& commit = member_of(answer, "sha");
  const Json& siblings = member_of(answer, "siblings");
  if (!commit.is_string() || !is_hex(commit.as_string(), kGitDigits) || !siblings.is_array() ||
      siblings.as_array().size() > kMostFiles) {
    no_listing(origin, fmt::format("its answer about {} has no commit and files", model.text()));
  }
  Listing listing{.model = model, .commit = commit.as_string()};
  std::set<std::string> names;
  for (const Json& sibling : siblings.as_array()) {
    RemoteFile file = remote_file(sibling, origin);
    if (!names.insert(file.name).second) {
      no_listing(origin, fmt::format("lists {} twice", excerpt(file.name)));
    }
    listing.files.push_back(std::move(file));
  }
  return listing;
}

std::vector<RemoteFile> chosen_files(const Listing& listing) {
  std::vector<RemoteFile> chosen;
  const bool whole = listing.find("model.safetensors") != nullptr;
  bool weights = false;
  for (const RemoteFile& file : listing.files) {
    // With both, readers take the whole file.
    const bool wanted = is_weights(file.name) && !(whole && file.name == kIndexName);
    weights = weights || wanted;
    if (wanted || (is_companion(file.name) && !is_weights(file.name))) {
      chosen.push_back(file);
    }
  }
  if (!weights) {
    has_no_weights(listing);
  }
  if (listing.find("config.json") == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} has no config.json, so it is not a model of transformers",
                            listing.model.text()));
  }
  return chosen;
}

std::vector<RemoteFile> shards_of(const Listing& listing, const Json& index) {
  const Json& map = member_of(index, "weight_map");
  if (!map.is_object() || map.as_object().empty()) {
    no_listing(listing.model.text(), fmt::format("{} has no weight_map", kIndexName));
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map.as_object()) {
    names.insert(shard.is_string() ? shard.as_string() : shard.dump());
  }
  std::vector<RemoteFile> shards;
  for (const std::string& name : names) {
    const RemoteFile* file = listing.find(name);
    if (file == nullptr || !name.ends_with(".safetensors") || name.find('/') != std::string::npos) {
      no_listing(listing.model.text(), fmt::format("{} names {}, which is no shard of this model",
                                                   kIndexName, excerpt(name)));
    }
    shards.push_back(*file);
  }
  return shards;
}

}  // namespace tunebench::hub
