#include "tunebench/data/bpe.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/data/byte_alphabet.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;

constexpr std::size_t kAll = ~std::size_t{0};

std::vector<std::int32_t> encode(const Bpe& bpe, std::string_view piece,
                                 std::size_t enough = kAll) {
  std::vector<std::int32_t> ids;
  bpe.encode(piece, ids, enough);
  return ids;
}

Vocabulary letters(std::initializer_list<std::string_view> tokens) {
  Vocabulary vocabulary;
  for (const std::string_view token : tokens) {
    vocabulary.insert(token, static_cast<std::int32_t>(vocabulary.size()));
  }
  return vocabulary;
}

/// The definition, plainly: the pair of lowest rank, the leftmost of these, again and again.
std::vector<std::int32_t> merge_by_definition(std::string_view text, const Vocabulary& vocabulary,
                                              const MergeList& merges) {
  std::vector<std::string> parts;
  for (const char letter : text) {
    parts.emplace_back(1, letter);
  }
  for (bool merged = true; merged;) {
    merged = false;
    for (const auto& [first, second] : merges) {
      for (std::size_t i = 0; i + 1 < parts.size() && !merged; ++i) {
        if (parts[i] == first && parts[i + 1] == second) {
          parts[i] += parts[i + 1];
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
      }
      if (merged) {
        break;
      }
    }
  }
  std::vector<std::int32_t> ids;
  for (const std::string& part : parts) {
    ids.push_back(vocabulary.find(part).value());
  }
  return ids;
}

TEST(Bpe, MergesTheLowestRankFirstAndTheLeftmostOfThese) {
  const Bpe bpe(letters({"a", "b", "ab", "aa", "aab"}), {{"a", "a"}, {"a", "b"}, {"aa", "b"}}, {});
  EXPECT_THAT(encode(bpe, "aab"), ElementsAre(4));
  EXPECT_THAT(encode(bpe, "aaab"), ElementsAre(3, 2));
  EXPECT_THAT(encode(bpe, "aaaab"), ElementsAre(3, 4));
}

TEST(Bpe, AgreesWithTheDefinitionAtEveryLength) {
  const MergeList merges = {{"a", "b"}, {"c", "a"},  {"b", "b"},  {"ab", "c"}, {"ca", "ca"},
                            {"a", "a"}, {"bb", "a"}, {"b", "ca"}, {"d", "ab"}, {"aa", "bb"}};
  const Vocabulary vocabulary = letters(
      {"a", "b", "c", "d", "ab", "ca", "bb", "abc", "caca", "aa", "bba", "bca", "dab", "aabb"});
  const Bpe bpe(vocabulary, merges, {});
  for (std::uint64_t round = 0; round < 200; ++round) {
    std::string text;
    const std::size_t length = round % 8 == 7 ? 300 : 1 + round % 70;
    for (std::uint64_t i = 0; i < length; ++i) {
      text.push_back("aabbcd"[uniform_int(7, round, i, 6)]);
    }
    EXPECT_EQ(encode(bpe, text), merge_by_definition(text, vocabulary, merges)) << text;
  }
}

TEST(Bpe, StopsALongPieceOnceThereIsEnough) {
  const Bpe bpe(letters({"a", "b", " ", "ab"}), {{"a", "b"}}, {});
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "ab ";
  }
  const std::vector<std::int32_t> some = encode(bpe, text, 5);
  EXPECT_GE(some.size(), 5U);
  EXPECT_LT(some.size(), 10U);
}

TEST(Bpe, GivesTheSameIdsForBytesAsForTheirLetters) {
  Vocabulary vocabulary;
  for (const std::string& letter : byte_letters()) {
    vocabulary.insert(letter, static_cast<std::int32_t>(vocabulary.size()));
  }
  vocabulary.insert("ĠÃ", 256);
  vocabulary.insert("ĠÃ©", 257);
  const MergeList merges = {{"Ġ", "Ã"}, {"ĠÃ", "©"}};
  const Bpe by_letters(vocabulary, merges, {});
  Bpe by_bytes(vocabulary, merges, {});
  ASSERT_TRUE(by_bytes.take_bytes());
  const std::string text = " é x" + std::string(60, 'z') + " éé";
  EXPECT_EQ(encode(by_bytes, text), encode(by_letters, to_byte_letters(text)));
  EXPECT_THAT(encode(by_bytes, " é"), ElementsAre(257));
}

TEST(Bpe, StaysWithLettersWhenTheVocabularyLacksAByte) {
  Bpe bpe(letters({"a", "b"}), {}, {});
  EXPECT_FALSE(bpe.take_bytes());
  EXPECT_THAT(encode(bpe, "ab"), ElementsAre(0, 1));
}

TEST(Bpe, MarksTheInsideAndTheEndOfAWord) {
  BpeOptions options;
  options.continuing_prefix = "##";
  options.end_suffix = "</w>";
  const Bpe bpe(letters({"a", "##a", "##a</w>", "a</w>", "a##a"}), {}, options);
  EXPECT_THAT(encode(bpe, "a"), ElementsAre(3));
  EXPECT_THAT(encode(bpe, "aaa"), ElementsAre(0, 1, 2));
}

TEST(Bpe, LeavesUnknownCharactersOutWithoutAnIdForThem) {
  const Bpe bpe(letters({"a"}), {}, {});
  EXPECT_THAT(encode(bpe, "axa"), ElementsAre(0, 0));
}

TEST(Bpe, MayBeUsedByManyThreads) {
  const Bpe bpe(letters({"a", "b", "ab"}), {{"a", "b"}}, {});
  ThreadPool pool(4);
  pool.for_each_task(200, [&](std::int64_t task, int /*thread*/) {
    const std::size_t count = static_cast<std::size_t>(task % 20) + 1;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += "ab";
    }
    EXPECT_EQ(encode(bpe, text), std::vector<std::int32_t>(count, 2));
  });
}

}  // namespace
}  // namespace tunebench::data
