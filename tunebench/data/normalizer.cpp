#include "tunebench/data/normalizer.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tunebench/data/byte_alphabet.h"
#include "tunebench/data/pattern.h"
#include "tunebench/data/pattern_part.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  void apply(std::string& text, bool& /*at_start*/) const override {
    if (!is_ascii(text)) {
      text = normal_form(text, form_);
    }
  }

 private:
  NormalForm form_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  void apply(std::string& text, bool& /*at_start*/) const override { text = lower_case(text); }
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::string& text, bool& at_start) const override {
    std::size_t begin = text.size();
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t here = at;
      if (!is_white_space(next_code_point(text, at))) {
        begin = std::min(begin, here);
        end = at;
      }
    }
    if (right_) {
      text.resize(end);
    }
    if (left_ && begin > 0) {
      text.erase(0, begin);
      at_start = false;
    }
  }

 private:
  bool left_;
  bool right_;
};

class StripAccentsNormalizer final : public Normalizer {
 public:
  void apply(std::string& text, bool& at_start) const override {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      if (!is_mark(next_code_point(text, at))) {
        kept.append(text, begin, at - begin);
      } else if (begin == 0) {
        at_start = false;
      }
    }
    text = std::move(kept);
  }
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  void apply(std::string& text, bool& /*at_start*/) const override {
    if (!text.empty()) {
      text.insert(0, text_);
    }
  }

 private:
  std::string text_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::string& text, bool& at_start) const override {
    std::string result;
    std::size_t kept = 0;
    for_each_match(pattern_, text, [&](Span match) {
      result.append(text, kept, match.begin - kept);
      result += content_;
      kept = match.end;
      if (match.begin == 0 && !match.empty() && content_.empty()) {
        at_start = false;
      }
      return true;
    });
    if (kept > 0 || !result.empty()) {
      result.append(text, kept);
      text = std::move(result);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void apply(std::string& text, bool& /*at_start*/) const override { text = to_byte_letters(text); }
};

void parse_into(const JsonPart& given, std::vector<std::unique_ptr<Normalizer>>& steps) {
  const JsonPart part = given.typed();
  const std::string type = part.type();
  if (type == "Sequence") {
    part.expect_only({"type", "normalizers"});
    for (const Json& step : part.array("normalizers")) {
      parse_into(part.sibling(step, "normalizer"), steps);
    }
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    part.expect_only({"type"});
    steps.push_back(std::make_unique<FormNormalizer>(type == "NFC"    ? NormalForm::Nfc
                                                     : type == "NFD"  ? NormalForm::Nfd
                                                     : type == "NFKC" ? NormalForm::Nfkc
                                                                      : NormalForm::Nfkd));
  } else if (type == "Lowercase") {
    part.expect_only({"type"});
    steps.push_back(std::make_unique<LowercaseNormalizer>());
  } else if (type == "Strip") {
    part.expect_only({"type", "strip_left", "strip_right"});
    steps.push_back(
        std::make_unique<StripNormalizer>(part.flag("strip_left"), part.flag("strip_right")));
  } else if (type == "StripAccents") {
    part.expect_only({"type"});
    steps.push_back(std::make_unique<StripAccentsNormalizer>());
  } else if (type == "Prepend") {
    part.expect_only({"type", "prepend"});
    steps.push_back(std::make_unique<PrependNormalizer>(part.string("prepend")));
  } else if (type == "Replace") {
    part.expect_only({"type", "pattern", "content"});
    steps.push_back(
        std::make_unique<ReplaceNormalizer>(parse_pattern(part), part.string("content")));
  } else if (type == "ByteLevel") {
    part.expect_only({"type"});
    steps.push_back(std::make_unique<ByteLevelNormalizer>());
  } else {
    part.fail(ErrorCode::Unsupported, "is not supported");
  }
}

}  // namespace

std::vector<std::unique_ptr<Normalizer>> parse_normalizers(const JsonPart& part) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  parse_into(part, steps);
  return steps;
}

}  // namespace tunebench::data
