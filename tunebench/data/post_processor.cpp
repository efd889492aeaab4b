#include "tunebench/data/post_processor.h"

#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::data {
namespace {

std::int32_t checked_id(const JsonPart& part, const Json& value) {
  if (!value.is_int() || value.as_int() < 0 ||
      value.as_int() > std::numeric_limits<std::int32_t>::max()) {
    part.fail("has a token id that is not a number from 0 to 2147483647");
  }
  return static_cast<std::int32_t>(value.as_int());
}

void append_special(const JsonPart& part, const std::string& name, std::vector<std::int32_t>& ids) {
  const JsonPart tokens = part.part("special_tokens");
  if (tokens.find(name) == nullptr) {
    part.fail(fmt::format("uses the special token '{}', which it does not define", excerpt(name)));
  }
  for (const Json& id : tokens.part(name).array("ids")) {
    ids.push_back(checked_id(part, id));
  }
}

Surroundings parse_template(const JsonPart& part) {
  part.expect_only({"type", "single", "pair", "special_tokens"});
  Surroundings around;
  int texts = 0;
  for (const Json& piece : part.array("single")) {
    const JsonPart entry = part.sibling(piece, "post_processor 'TemplateProcessing' piece");
    entry.expect_only({"SpecialToken", "Sequence"});
    if (entry.find("Sequence") != nullptr) {
      const std::string which = entry.part("Sequence").string("id");
      if (which != "A") {
        part.fail(fmt::format("has the text '{}' in its form for one text", excerpt(which)));
      }
      ++texts;
    } else {
      append_special(part, entry.part("SpecialToken").string("id"),
                     texts == 0 ? around.before : around.after);
    }
  }
  if (texts != 1) {
    part.fail(ErrorCode::Unsupported, fmt::format("has the text {} times, not once", texts));
  }
  return around;
}

std::int32_t parse_named_id(const JsonPart& part, std::string_view key) {
  const Json::Array& pair = part.array(key);
  if (pair.size() != 2) {
    part.fail(fmt::format("has a '{}' that is not a name and an id", key));
  }
  return checked_id(part, pair[1]);
}

}  // namespace

Surroundings parse_post_processor(const JsonPart& given) {
  const JsonPart part = given.typed();
  const std::string type = part.type();
  if (type == "TemplateProcessing") {
    return parse_template(part);
  }
  if (type == "ByteLevel") {
    part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return {};
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    part.expect_only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    return {.before = {parse_named_id(part, "cls")}, .after = {parse_named_id(part, "sep")}};
  }
  if (type != "Sequence") {
    part.fail(ErrorCode::Unsupported, "is not supported");
  }
  part.expect_only({"type", "processors"});
  Surroundings around;
  for (const Json& step : part.array("processors")) {
    const Surroundings outer = parse_post_processor(part.sibling(step, "post_processor"));
    around.before.insert(around.before.begin(), outer.before.begin(), outer.before.end());
    around.after.insert(around.after.end(), outer.after.begin(), outer.after.end());
  }
  return around;
}

}  // namespace tunebench::data
