#include "tunebench/data/pre_tokenizer.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/data/byte_alphabet.h"
#include "tunebench/data/pattern_part.h"
#include "tunebench/data/splitting.h"

namespace tunebench::data {
namespace {

bool split_by_pattern(const Pattern& pattern, std::string_view text, bool at_start,
                      SplitBehavior behavior, bool invert, PieceSink& sink) {
  Splitter splitter(text, at_start, behavior, invert, sink);
  for_each_match(pattern, text, [&](Span match) { return splitter.match(match); });
  return splitter.finish();
}

class SplitStep final : public PreTokenizer {
 public:
  SplitStep(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    return split_by_pattern(pattern_, piece, at_start, behavior_, invert_, sink);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Turns pieces into byte letters on their way to the next sink.
class ByteLetterSink final : public PieceSink {
 public:
  explicit ByteLetterSink(PieceSink& next) : next_(next) {}
  bool take(std::string_view piece, bool at_start) override {
    return next_.take(to_byte_letters(piece), at_start);
  }

 private:
  PieceSink& next_;
};

class ByteLevelStep final : public PreTokenizer {
 public:
  ByteLevelStep(bool add_prefix_space, bool use_regex, bool letters)
      : add_prefix_space_(add_prefix_space),
        use_regex_(use_regex),
        letters_(letters),
        pattern_(use_regex ? Pattern::regex(kWords) : Pattern::literal(" ")) {}

  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    ByteLetterSink to_letters(sink);
    PieceSink& next = letters_ ? static_cast<PieceSink&>(to_letters) : sink;
    std::string prefixed;
    if (add_prefix_space_ && !piece.starts_with(' ')) {
      prefixed = " ";
      prefixed += piece;
      piece = prefixed;
    }
    return use_regex_
               ? split_by_pattern(pattern_, piece, at_start, SplitBehavior::Isolated, false, next)
               : next.take(piece, at_start);
  }

  [[nodiscard]] std::unique_ptr<PreTokenizer> without_byte_letters() const override {
    return std::make_unique<ByteLevelStep>(add_prefix_space_, use_regex_, false);
  }

 private:
  /// GPT-2's words. Source: github.com/openai/gpt-2 encoder.py.
  static constexpr std::string_view kWords =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  bool add_prefix_space_;
  bool use_regex_;
  bool letters_;
  Pattern pattern_;
};

class MetaspaceStep final : public PreTokenizer {
 public:
  enum class Prepend { Always, First, Never };
  MetaspaceStep(std::string replacement, Prepend prepend, bool split)
      : replacement_(std::move(replacement)),
        prepend_(prepend),
        split_(split),
        pattern_(Pattern::literal(replacement_)) {}

  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    std::string text;
    for (const char byte : piece) {
      if (byte == ' ') {
        text += replacement_;
      } else {
        text.push_back(byte);
      }
    }
    const bool wanted = prepend_ == Prepend::Always || (prepend_ == Prepend::First && at_start);
    if (wanted && !text.starts_with(replacement_)) {
      text.insert(0, replacement_);
    }
    return split_ ? split_by_pattern(pattern_, text, at_start, SplitBehavior::MergedWithNext, false,
                                     sink)
                  : sink.take(text, at_start);
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  bool split_;
  Pattern pattern_;
};

using Predicate = bool (*)(char32_t);

class CharacterStep final : public PreTokenizer {
 public:
  CharacterStep(Predicate is_match, SplitBehavior behavior)
      : is_match_(is_match), behavior_(behavior) {}
  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    return split_by_character(piece, at_start, behavior_, sink, is_match_);
  }

 private:
  Predicate is_match_;
  SplitBehavior behavior_;
};

class DelimiterStep final : public PreTokenizer {
 public:
  explicit DelimiterStep(char32_t delimiter) : delimiter_(delimiter) {}
  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    return split_by_character(piece, at_start, SplitBehavior::Removed, sink,
                              [this](char32_t point) { return point == delimiter_; });
  }

 private:
  char32_t delimiter_;
};

/// Runs of word characters and runs of what is neither word nor white space.
class WordsStep final : public PreTokenizer {
 public:
  bool cut(std::string_view piece, bool at_start, PieceSink& sink) const override {
    enum class Kind { Space, Word, Other };
    Kind kind = Kind::Space;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t here = at;
      const char32_t point = next_code_point(piece, at);
      const Kind next = is_word(point)          ? Kind::Word
                        : is_white_space(point) ? Kind::Space
                                                : Kind::Other;
      if (next == kind) {
        continue;
      }
      if (kind != Kind::Space &&
          !sink.take(piece.substr(begin, here - begin), at_start && begin == 0)) {
        return false;
      }
      kind = next;
      begin = here;
    }
    return kind == Kind::Space || sink.take(piece.substr(begin), at_start && begin == 0);
  }
};

SplitBehavior parse_behavior(const JsonPart& part, std::string_view fallback) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::Removed},
       {"Isolated", SplitBehavior::Isolated},
       {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
       {"MergedWithNext", SplitBehavior::MergedWithNext},
       {"Contiguous", SplitBehavior::Contiguous}}};
  const std::string given = part.string("behavior", fallback);
  for (const auto& [name, behavior] : kNames) {
    if (given == name) {
      return behavior;
    }
  }
  part.fail(ErrorCode::Unsupported,
            fmt::format("has the behavior '{}', which is not supported", excerpt(given)));
}

std::unique_ptr<PreTokenizer> parse_metaspace(const JsonPart& part) {
  part.expect_only(
      {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  using Prepend = MetaspaceStep::Prepend;
  const std::string scheme =
      part.string("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    part.fail(ErrorCode::Unsupported,
              fmt::format("has the prepend_scheme '{}', which is not supported", excerpt(scheme)));
  }
  if (!part.flag("add_prefix_space", true) && scheme != "never") {
    part.fail(fmt::format("has add_prefix_space false but prepend_scheme '{}'", scheme));
  }
  const std::string replacement = part.string("replacement");
  if (replacement.empty()) {
    part.fail("has an empty replacement");
  }
  return std::make_unique<MetaspaceStep>(replacement,
                                         scheme == "always"  ? Prepend::Always
                                         : scheme == "first" ? Prepend::First
                                                             : Prepend::Never,
                                         part.flag("split", true));
}

std::unique_ptr<PreTokenizer> parse_delimiter(const JsonPart& part) {
  part.expect_only({"type", "delimiter"});
  const std::string text = part.string("delimiter");
  std::size_t at = 0;
  const char32_t delimiter = text.empty() ? 0 : next_code_point(text, at);
  if (text.empty() || at != text.size()) {
    part.fail("has a delimiter that is not one character");
  }
  return std::make_unique<DelimiterStep>(delimiter);
}

void parse_into(const JsonPart& given, PreTokenizers& steps) {
  const JsonPart part = given.typed();
  const std::string type = part.type();
  const auto by_character = [&](Predicate is_match, SplitBehavior behavior) {
    steps.push_back(std::make_unique<CharacterStep>(is_match, behavior));
  };
  if (type == "Sequence") {
    part.expect_only({"type", "pretokenizers"});
    for (const Json& step : part.array("pretokenizers")) {
      parse_into(part.sibling(step, "pre_tokenizer"), steps);
    }
  } else if (type == "ByteLevel") {
    part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    steps.push_back(std::make_unique<ByteLevelStep>(part.flag("add_prefix_space", true),
                                                    part.flag("use_regex", true), true));
  } else if (type == "Split") {
    part.expect_only({"type", "pattern", "behavior", "invert"});
    steps.push_back(std::make_unique<SplitStep>(parse_pattern(part), parse_behavior(part, ""),
                                                part.flag("invert", false)));
  } else if (type == "Metaspace") {
    steps.push_back(parse_metaspace(part));
  } else if (type == "Digits") {
    part.expect_only({"type", "individual_digits"});
    by_character(is_numeric, part.flag("individual_digits", false) ? SplitBehavior::Isolated
                                                                   : SplitBehavior::Contiguous);
  } else if (type == "Punctuation") {
    part.expect_only({"type", "behavior"});
    by_character(is_punctuation, parse_behavior(part, "Isolated"));
  } else if (type == "WhitespaceSplit") {
    part.expect_only({"type"});
    by_character(is_white_space, SplitBehavior::Removed);
  } else if (type == "BertPreTokenizer") {
    part.expect_only({"type"});
    by_character(is_white_space, SplitBehavior::Removed);
    by_character(is_punctuation, SplitBehavior::Isolated);
  } else if (type == "Whitespace") {
    part.expect_only({"type"});
    steps.push_back(std::make_unique<WordsStep>());
  } else if (type == "CharDelimiterSplit") {
    steps.push_back(parse_delimiter(part));
  } else {
    part.fail(ErrorCode::Unsupported, "is not supported");
  }
}

/// Gives the pieces of one step to the next.
class ChainSink final : public PieceSink {
 public:
  ChainSink(const PreTokenizers& steps, std::size_t next, PieceSink& last)
      : steps_(steps), next_(next), last_(last) {}
  bool take(std::string_view piece, bool at_start) override {
    if (next_ == steps_.size()) {
      return last_.take(piece, at_start);
    }
    ChainSink rest(steps_, next_ + 1, last_);
    return steps_[next_]->cut(piece, at_start, rest);
  }

 private:
  const PreTokenizers& steps_;
  std::size_t next_;
  PieceSink& last_;
};

}  // namespace

PreTokenizers parse_pre_tokenizers(const JsonPart& part) {
  PreTokenizers steps;
  parse_into(part, steps);
  return steps;
}

bool cut_by_all(const PreTokenizers& steps, std::string_view piece, bool at_start,
                PieceSink& sink) {
  return ChainSink(steps, 0, sink).take(piece, at_start);
}

}  // namespace tunebench::data
