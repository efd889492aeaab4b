#include "tunebench/data/bpe_file.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::data {
namespace {

void parse_vocabulary(const JsonPart& model, BpeFile& file) {
  const Json& vocabulary = model.member("vocab");
  if (!vocabulary.is_object()) {
    model.fail(fmt::format("has {} as 'vocab', not an object", vocabulary.kind_name()));
  }
  file.vocabulary = Vocabulary(vocabulary.as_object().size());
  for (const auto& [token, id] : vocabulary.as_object()) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() > std::numeric_limits<std::int32_t>::max()) {
      model.fail(fmt::format("gives '{}' an id that is not a number from 0 to 2147483647",
                             excerpt(token)));
    }
    file.vocabulary.insert(token, static_cast<std::int32_t>(id.as_int()));
    file.largest_id = std::max(file.largest_id, id.as_int());
  }
}

std::pair<std::string_view, std::string_view> parse_merge(const JsonPart& model, const Json& merge,
                                                          std::size_t number) {
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
    model.fail(fmt::format("has merge {} '{}', which is not two parts with one space between",
                           number, excerpt(text)));
  }
  if (!merge.is_array() || merge.as_array().size() != 2 || !merge.as_array()[0].is_string() ||
      !merge.as_array()[1].is_string()) {
    model.fail(fmt::format("has merge {} that is neither a string nor two strings", number));
  }
  return {std::string_view(merge.as_array()[0].as_string()),
          std::string_view(merge.as_array()[1].as_string())};
}

void parse_merges(const JsonPart& model, BpeFile& file) {
  const Json::Array& merges = model.array("merges");
  file.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    if (merges[i].is_string() && merges[i].as_string().starts_with("#version")) {
      continue;
    }
    file.merges.push_back(parse_merge(model, merges[i], i + 1));
  }
}

}  // namespace

BpeFile parse_bpe_file(const JsonPart& model) {
  // Files from before 2022 have no type; their other kinds of model have no merges.
  const std::string type = model.string("type", model.find("merges") != nullptr ? "BPE" : "");
  if (type != "BPE") {
    model.fail(ErrorCode::Unsupported,
               fmt::format("is of type '{}'; only BPE is supported", excerpt(type)));
  }
  model.expect_only({"type", "dropout", "unk_token", "continuing_subword_prefix",
                     "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                     "merges"});
  if (const Json* dropout = model.find("dropout")) {
    if (!dropout->is_number() || dropout->as_double() != 0.0) {
      model.fail(ErrorCode::Unsupported, "has a dropout, so its ids would be random");
    }
  }
  BpeFile file;
  parse_vocabulary(model, file);
  parse_merges(model, file);
  file.options.continuing_prefix = model.string("continuing_subword_prefix", "");
  file.options.end_suffix = model.string("end_of_word_suffix", "");
  file.options.fuse_unknown = model.flag("fuse_unk", false);
  file.options.byte_fallback = model.flag("byte_fallback", false);
  file.options.ignore_merges = model.flag("ignore_merges", false);
  if (model.find("unk_token") != nullptr) {
    const std::string unknown = model.string("unk_token");
    file.options.unknown = file.vocabulary.find(unknown);
    if (!file.options.unknown) {
      model.fail(
          fmt::format("has the unk_token '{}', which is not in its vocabulary", excerpt(unknown)));
    }
  }
  return file;
}

}  // namespace tunebench::data
