#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/data/testing.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/data/tokenizer_json_testing.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::added;
using testing_support::bpe;
using testing_support::byte_level;
using testing_support::document;
using testing_support::encode;
using testing_support::message_of;
using testing_support::read_json;
using testing_support::vocab;

std::string tokenizer_refusal(ErrorCode code, const Json& file) {
  return message_of(code, [&] { static_cast<void>(parse_tokenizer(file, "t.json")); });
}

Json with(Json file, const std::string& key, Json value) {
  file.set(key, std::move(value));
  return file;
}

// ---- ignore_merges

Json three_letters(bool ignore_merges) {
  Json model = bpe(vocab({"a", "b", "c", "ab", "abc", "Ġ"}), {"a b"});
  model.set("ignore_merges", ignore_merges);
  return with(document(model), "pre_tokenizer", byte_level());
}

// TOK-01
TEST(JsonTokenizer, TakesAWholePieceBeforeMergingWhenMergesMayBeIgnored) {
  EXPECT_THAT(encode(three_letters(true), "abc"), ElementsAre(4));
  EXPECT_THAT(encode(three_letters(true), "abcab"), ElementsAre(3, 2, 3));
  EXPECT_THAT(encode(three_letters(false), "abc"), ElementsAre(3, 2));
}

// ---- merges in two forms

// TOK-02
TEST(JsonTokenizer, ReadsMergesAsTextsAndAsPairs) {
  const Json words = vocab({"a", "b", "c", "ab", "abc"});
  EXPECT_THAT(encode(document(bpe(words, {"#version: 0.2", "a b", "ab c"})), "abcab"),
              ElementsAre(4, 3));
  Json model = bpe(words, {});
  model.set("merges", read_json(R"([["a","b"],["ab","c"]])"));
  EXPECT_THAT(encode(document(model), "abcab"), ElementsAre(4, 3));
}

// TOK-02
TEST(JsonTokenizer, MergesPairsThatHoldSpaces) {
  Json model = bpe(vocab({"a", " ", "a ", "b", "a b", "ab"}), {});
  model.set("merges", read_json(R"([["a"," "],["a ","b"],["a","b"]])"));
  EXPECT_THAT(encode(document(model), "a bab"), ElementsAre(4, 5));
}

// TOK-02
TEST(JsonTokenizer, RefusesAMergeOfWhatIsNotInTheVocabulary) {
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(bpe(vocab({"a", "b"}), {"a c"}))),
            "t.json: model has the merge 'a' + 'c', whose part 'c' is not in the vocabulary");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(bpe(vocab({"a", "b"}), {"a b"}))),
            "t.json: model has the merge 'a' + 'b', whose result 'ab' is not in the vocabulary");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(bpe(vocab({"a", "b"}), {"ab"}))),
            "t.json: model has merge 1 'ab', which is not two parts with one space between");
}

// ---- prefix space

Json metaspace(const std::string& scheme) {
  Json model = bpe(vocab({"<unk>", "<s>", "</s>", "▁", "a", "b", "▁a", "▁b"}), {"▁ a", "▁ b"});
  model.set("unk_token", "<unk>");
  Json file = with(document(model), "added_tokens",
                   Json::array({added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")}));
  if (scheme == "normalizer") {
    file.set("normalizer", read_json(R"({"type":"Sequence","normalizers":[
        {"type":"Prepend","prepend":"▁"},
        {"type":"Replace","pattern":{"String":" "},"content":"▁"}]})"));
  } else {
    Json step = read_json(R"({"type":"Metaspace","replacement":"▁","split":true})");
    step.set("prepend_scheme", scheme);
    file.set("pre_tokenizer", step);
  }
  return file;
}

// TOK-03
TEST(JsonTokenizer, PrependsASpaceToTheFirstPieceOnlyWithFirst) {
  EXPECT_THAT(encode(metaspace("first"), "a<s>b"), ElementsAre(6, 1, 5));
  EXPECT_THAT(encode(metaspace("first"), "<s>b"), ElementsAre(1, 5));
  EXPECT_THAT(encode(metaspace("first"), "<s> b"), ElementsAre(1, 7));
  EXPECT_THAT(encode(metaspace("first"), " a"), ElementsAre(6));
}

// TOK-03
TEST(JsonTokenizer, PrependsASpaceToAllPiecesOrNone) {
  EXPECT_THAT(encode(metaspace("always"), "a<s>b"), ElementsAre(6, 1, 7));
  EXPECT_THAT(encode(metaspace("never"), "a b"), ElementsAre(4, 7));
}

// TOK-03
TEST(JsonTokenizer, KeepsARealLeadingSpaceBehindAPrependedOne) {
  EXPECT_THAT(encode(metaspace("normalizer"), "<s>b"), ElementsAre(1, 7));
  EXPECT_THAT(encode(metaspace("normalizer"), "<s> b"), ElementsAre(1, 3, 7));
  EXPECT_THAT(encode(metaspace("normalizer"), " a"), ElementsAre(3, 6));
  EXPECT_THAT(encode(metaspace("normalizer"), ""), IsEmpty());
}

TEST(JsonTokenizer, ReadsTheOlderPrefixFlagOfMetaspace) {
  Json file = metaspace("never");
  file.set("pre_tokenizer",
           read_json(R"({"type":"Metaspace","replacement":"▁","add_prefix_space":false})"));
  EXPECT_THAT(encode(file, "a b"), ElementsAre(4, 7));
  file.set("pre_tokenizer",
           read_json(R"({"type":"Metaspace","replacement":"▁","add_prefix_space":true})"));
  EXPECT_THAT(encode(file, "a b"), ElementsAre(6, 7));
}

// ---- byte fallback

Json fallback(bool byte_fallback, bool fuse) {
  Json model = bpe(vocab({"<unk>", "a", "b", "<0x0A>", "<0xC3>", "<0xA9>"}), {});
  model.set("unk_token", "<unk>");
  model.set("byte_fallback", byte_fallback);
  model.set("fuse_unk", fuse);
  return document(model);
}

// TOK-04
TEST(JsonTokenizer, WritesAnUnknownCharacterAsItsBytes) {
  EXPECT_THAT(encode(fallback(true, false), "a\n\nb"), ElementsAre(1, 3, 3, 2));
  EXPECT_THAT(encode(fallback(true, false), "é"), ElementsAre(4, 5));
}

// TOK-04
TEST(JsonTokenizer, GivesUnknownWhenOneByteIsMissing) {
  EXPECT_THAT(encode(fallback(true, false), "a😀😀b"), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(encode(fallback(true, true), "a😀😀b"), ElementsAre(1, 0, 2));
  EXPECT_THAT(encode(fallback(false, false), "a\nb"), ElementsAre(1, 0, 2));
}

TEST(JsonTokenizer, CountsUnknownCharactersInPiecesOfAnyLength) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "a😀😀b";
  }
  EXPECT_EQ(encode(fallback(true, true), text).size(), 300U);
  EXPECT_EQ(encode(fallback(true, false), text).size(), 400U);
}

// ---- the regular expression in full

Json numbers_and_spaces(bool split) {
  Json model = bpe(vocab({"1",  "2",  "3", "4", "12", "123",  "34", "1234", "a",  "b",  "Ġ",
                          "ĠĠ", "Ġb", "č", "Ċ", "čĊ", "čĊčĊ", "Ã",  "©",    "Ã©", "aÃ©"}),
                   {"1 2", "12 3", "3 4", "123 4", "Ġ Ġ", "Ġ b", "č Ċ", "čĊ čĊ", "Ã ©", "a Ã©"});
  if (!split) {
    return with(document(model), "pre_tokenizer", byte_level());
  }
  return with(document(model), "pre_tokenizer", read_json(R"({"type":"Sequence","pretokenizers":[
      {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})"));
}

// TOK-05
TEST(JsonTokenizer, SplitsByTheExpressionOfTheFile) {
  const Json file = numbers_and_spaces(true);
  EXPECT_THAT(encode(file, "1234"), ElementsAre(5, 3));
  EXPECT_THAT(encode(file, "12341234"), ElementsAre(5, 3, 4, 6));
  EXPECT_THAT(encode(file, "a  b"), ElementsAre(8, 10, 12));
  EXPECT_THAT(encode(file, "a\r\n\r\nb"), ElementsAre(8, 16, 9));
  EXPECT_THAT(encode(file, "a \n b"), ElementsAre(8, 10, 14, 12));
  EXPECT_THAT(encode(file, "aé"), ElementsAre(20));
}

// TOK-05
TEST(JsonTokenizer, SplitsIntoWordsWhereTheFileSaysNoMore) {
  const Json file = numbers_and_spaces(false);
  EXPECT_THAT(encode(file, "1234"), ElementsAre(7));
  EXPECT_THAT(encode(file, "a\r\n\r\nb"), ElementsAre(8, 15, 13, 14, 9));
}

// ---- flags of added tokens

Json flagged(const std::string& flags, bool prefix_space) {
  Json model = bpe(vocab({"m", "y", "s", "a", "b", "c", "Ġ", "<m>", "Ġs", "Ġm", "Ġa", "M"}),
                   {"Ġ s", "Ġ m", "Ġ a"});
  Json token = added(12, "abc");
  const Json changes = read_json(flags);
  for (const Json::Member& flag : changes.as_object()) {
    token.set(flag.first, flag.second);
  }
  Json step = byte_level();
  step.set("add_prefix_space", prefix_space);
  return with(with(document(model), "added_tokens", Json::array({token})), "pre_tokenizer", step);
}

// TOK-07
TEST(JsonTokenizer, FindsAddedTokensInsideWords) {
  const std::string flags = R"({"special":false,"normalized":true})";
  EXPECT_THAT(encode(flagged(flags, false), "my abcs"), ElementsAre(0, 1, 6, 12, 2));
  EXPECT_THAT(encode(flagged(flags, true), "my abcs"), ElementsAre(9, 1, 6, 12, 8));
}

// TOK-07
TEST(JsonTokenizer, FindsSingleWordTokensBetweenWordsOnly) {
  const Json file = flagged(R"({"special":false,"normalized":true,"single_word":true})", false);
  EXPECT_THAT(encode(file, "my abcs"), ElementsAre(0, 1, 10, 4, 5, 2));
  EXPECT_THAT(encode(file, "my abc s"), ElementsAre(0, 1, 6, 12, 8));
}

// TOK-07
TEST(JsonTokenizer, StripsSpaceBesideAddedTokens) {
  EXPECT_THAT(encode(flagged(R"({"lstrip":true})", false), "a abc my"), ElementsAre(3, 12, 9, 1));
  EXPECT_THAT(encode(flagged(R"({"rstrip":true})", false), "a abc my"),
              ElementsAre(3, 6, 12, 0, 1));
}

// TOK-07
TEST(JsonTokenizer, LooksForNormalizedTokensInTheNormalizedText) {
  for (const bool normalized : {true, false}) {
    Json file = flagged(
        normalized ? R"({"special":false,"normalized":true})" : R"({"special":false})", false);
    file.set("normalizer", read_json(R"({"type":"Lowercase"})"));
    if (normalized) {
      EXPECT_THAT(encode(file, "aABCa"), ElementsAre(3, 12, 3));
    } else {
      EXPECT_THAT(encode(file, "aABCa"), ElementsAre(3, 3, 4, 5, 3));
    }
  }
}

TEST(JsonTokenizer, TakesTheLongestAddedToken) {
  Json file = document(bpe(vocab({"a", "b"}), {}));
  file.set("added_tokens", Json::array({added(2, "<a>"), added(3, "<a><a>"), added(4, "<")}));
  EXPECT_THAT(encode(file, "<a><a><a>a<"), ElementsAre(3, 2, 0, 4));
}

TEST(JsonTokenizer, RefusesAddedTokensThatContradictTheVocabulary) {
  Json file = document(bpe(vocab({"a", "b"}), {}));
  file.set("added_tokens", Json::array({added(7, "b")}));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, file),
            "t.json: added_tokens gives 'b' the id 7, but the vocabulary gives it 1");
  file.set("added_tokens", Json::array({added(-1, "c")}));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, file),
            "t.json: added_tokens gives 'c' the id -1, which is out of range");
}

// ---- special tokens around the text

Json templated() {
  Json file = document(bpe(vocab({"<s>", "</s>", "a", "b"}), {}));
  file.set("added_tokens", Json::array({added(0, "<s>"), added(1, "</s>")}));
  file.set("pre_tokenizer", byte_level());
  file.set("post_processor", read_json(R"({"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]}}})"));
  return file;
}

// TOK-09
TEST(JsonTokenizer, AddsSpecialTokensOnlyWhenAsked) {
  const auto tokenizer = parse_tokenizer(templated(), "t.json");
  EXPECT_THAT(tokenizer->encode("ab", true), ElementsAre(0, 2, 3));
  EXPECT_THAT(tokenizer->encode("<s>ab</s>", true), ElementsAre(0, 0, 2, 3, 1));
  EXPECT_THAT(tokenizer->encode("<s>ab</s>", false), ElementsAre(0, 2, 3, 1));
}

TEST(JsonTokenizer, CountsSpecialTokensWithinTheLimit) {
  const auto tokenizer = parse_tokenizer(templated(), "t.json");
  EXPECT_THAT(tokenizer->encode("ab", true, 2), ElementsAre(0, 2));
  EXPECT_THAT(tokenizer->encode("ab", true, 0), IsEmpty());
}

TEST(JsonTokenizer, ChainsPostProcessors) {
  Json file = templated();
  file.set("post_processor", read_json(R"({"type":"Sequence","processors":[
      {"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},
      {"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0],"trim_offsets":true,
       "add_prefix_space":false}]})"));
  EXPECT_THAT(encode(file, "ab"), ElementsAre(0, 2, 3, 1));
}

TEST(JsonTokenizer, RefusesATemplateWithoutItsToken) {
  Json file = templated();
  file.set("post_processor", read_json(R"({"type":"TemplateProcessing","pair":[],
      "single":[{"SpecialToken":{"id":"<x>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "special_tokens":{}})"));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, file),
            "t.json: post_processor 'TemplateProcessing' uses the special token '<x>', which it "
            "does not define");
}

// ---- limits, vocabulary, bad text

TEST(JsonTokenizer, GivesTheSameFirstIdsUnderALimit) {
  const auto tokenizer = parse_tokenizer(numbers_and_spaces(true), "t.json");
  const std::string text = "a  b1234 12341234\r\n\r\nab 34é b";
  const std::vector<std::int32_t> all = tokenizer->encode(text, true);
  for (std::size_t limit = 0; limit <= all.size(); ++limit) {
    const std::vector<std::int32_t> some =
        tokenizer->encode(text, true, static_cast<std::int64_t>(limit));
    ASSERT_EQ(some.size(), limit);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
  }
}

TEST(JsonTokenizer, CountsIdsUpToTheLargest) {
  EXPECT_EQ(parse_tokenizer(document(bpe(vocab({"a", "b"}), {})), "t.json")->vocabulary(), 2);
  EXPECT_EQ(parse_tokenizer(flagged("{}", false), "t.json")->vocabulary(), 13);
}

TEST(JsonTokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = parse_tokenizer(templated(), "t.json");
  EXPECT_EQ(message_of(ErrorCode::InvalidInput,
                       [&] { static_cast<void>(tokenizer->encode("a\xC3", true)); }),
            "text is not UTF-8");
}

// ---- what is not understood

TEST(JsonTokenizer, RefusesPartsItDoesNotKnowByName) {
  const Json file = document(bpe(vocab({"a"}), {}));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported,
                              with(file, "normalizer", read_json(R"({"type":"Precompiled"})"))),
            "t.json: normalizer 'Precompiled' is not supported");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported,
                              with(file, "pre_tokenizer", read_json(R"({"type":"Sequence",
                         "pretokenizers":[{"type":"UnicodeScripts"}]})"))),
            "t.json: pre_tokenizer 'UnicodeScripts' is not supported");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported,
                              with(file, "post_processor", read_json(R"({"type":"Other"})"))),
            "t.json: post_processor 'Other' is not supported");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported, with(file, "filter", Json(1))),
            "t.json: has 'filter', which is not understood");
}

TEST(JsonTokenizer, RefusesKeysItDoesNotKnowByName) {
  Json file = document(bpe(vocab({"a"}), {}));
  file.set("normalizer", read_json(R"({"type":"NFC","version":9})"));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported, file),
            "t.json: normalizer 'NFC' has 'version', which is not understood");
}

TEST(JsonTokenizer, RefusesOtherModelsAndRandomMerges) {
  EXPECT_EQ(tokenizer_refusal(
                ErrorCode::Unsupported,
                document(read_json(R"({"type":"Unigram","vocab":[["a",0.0]],"unk_id":0})"))),
            "t.json: model is of type 'Unigram'; only BPE is supported");
  Json model = bpe(vocab({"a"}), {});
  model.set("dropout", 0.1);
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported, document(model)),
            "t.json: model has a dropout, so its ids would be random");
}

TEST(JsonTokenizer, RefusesAnExpressionItCannotKeep) {
  Json file = document(bpe(vocab({"a"}), {}));
  file.set("pre_tokenizer",
           read_json(R"({"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\ba"}})"));
  EXPECT_EQ(tokenizer_refusal(ErrorCode::Unsupported, file),
            "t.json: pre_tokenizer 'Split' is refused: '\\b' is not supported in the expression "
            "'\\ba'");
  file.set("pre_tokenizer",
           read_json(R"json({"type":"Split","behavior":"Isolated","pattern":{"Regex":"a)"}})json"));
  EXPECT_THAT(tokenizer_refusal(ErrorCode::InvalidInput, file),
              HasSubstr("pre_tokenizer 'Split' is refused: the expression 'a)' is wrong"));
}

TEST(JsonTokenizer, RefusesValuesOfTheWrongKind) {
  Json model = bpe(vocab({"a"}), {});
  model.set("fuse_unk", "yes");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(model)),
            "t.json: model has a string as 'fuse_unk', not true or false");
  model = bpe(vocab({"a"}), {});
  model.set("unk_token", "<unk>");
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(model)),
            "t.json: model has the unk_token '<unk>', which is not in its vocabulary");
  model = bpe(read_json(R"({"a":-2})"), {});
  EXPECT_EQ(tokenizer_refusal(ErrorCode::InvalidInput, document(model)),
            "t.json: model gives 'a' an id that is not a number from 0 to 2147483647");
}

TEST(JsonTokenizer, NamesTheFileItReads) {
  const testing_support::TestFile file("tokenizer.json", "{\"model\": {\"type\": \"WordPiece\"}}");
  EXPECT_THAT(
      message_of(ErrorCode::Unsupported, [&] { static_cast<void>(load_tokenizer(file.path())); }),
      EndsWith("tokenizer.json: model is of type 'WordPiece'; only BPE is supported"));
  const testing_support::TestFile broken("tokenizer.json", "{\"model\": ");
  EXPECT_THAT(message_of(ErrorCode::InvalidInput,
                         [&] { static_cast<void>(load_tokenizer(broken.path())); }),
              HasSubstr("tokenizer.json:1:"));
}

}  // namespace
}  // namespace tunebench::data
