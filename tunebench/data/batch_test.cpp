#include "tunebench/data/batch.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing_support::message_of;
using testing_support::TextDataset;

constexpr std::int32_t kNo = kIgnoredLabel;

struct Sum {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t nonpad = 0;
  std::int64_t trained = 0;
};

Sum run_epochs(const Dataset& dataset, const BatchOptions& options, std::int64_t epochs) {
  const auto tokenizer = make_byte_tokenizer();
  BatchSource source(dataset, *tokenizer, options);
  Sum sum;
  sum.steps = source.steps_per_epoch() * epochs;
  for (std::int64_t step = 0; step < sum.steps; ++step) {
    for (const MicroBatch& batch : source.step(step)) {
      sum.samples += batch.samples;
      sum.tokens += batch.tokens();
      sum.nonpad += batch.tokens_nonpad;
      sum.trained += batch.tokens_trained;
    }
  }
  return sum;
}

TextDataset unequal_lengths() {
  return TextDataset({"aaa", "bbbbb", "cccccccc", "dd"});
}

MicroBatch only_batch(std::vector<std::string> texts, BatchOptions options) {
  const TextDataset dataset(std::move(texts));
  const auto tokenizer = make_byte_tokenizer();
  options.batch_size = dataset.size();
  BatchSource source(dataset, *tokenizer, std::move(options));
  std::vector<MicroBatch> batches = source.step(0);
  EXPECT_EQ(batches.size(), 1U);
  return batches.at(0);
}

std::string batch_refusal(std::vector<std::string> texts, const BatchOptions& options) {
  return message_of(ErrorCode::InvalidInput, [&] {
    const TextDataset dataset(std::move(texts));
    const auto tokenizer = make_byte_tokenizer();
    const BatchSource source(dataset, *tokenizer, options);
  });
}

TEST(BatchSource, PadsOnTheRightToTheLongestOfTheMicroBatch) {
  const MicroBatch batch = only_batch({"ab", "wxyz"}, {.pad_token = 9});
  EXPECT_EQ(batch.samples, 2);
  EXPECT_EQ(batch.length, 4);
  EXPECT_THAT(batch.ids, ElementsAre(100, 101, 9, 9, 122, 123, 124, 125));
  EXPECT_THAT(batch.lengths, ElementsAre(2, 4));
}

TEST(BatchSource, LabelsEachPositionWithTheNextToken) {
  const MicroBatch batch = only_batch({"ab", "wxyz"}, {.pad_token = 9});
  EXPECT_THAT(batch.labels, ElementsAre(101, kNo, kNo, kNo, 123, 124, 125, kNo));
  EXPECT_EQ(batch.tokens_nonpad, 6);
  EXPECT_EQ(batch.tokens_trained, 4);
}

TEST(BatchSource, CutsSamplesToTheMaximumLength) {
  const MicroBatch batch = only_batch({"abcdef"}, {.max_length = 3});
  EXPECT_THAT(batch.ids, ElementsAre(100, 101, 102));
  EXPECT_THAT(batch.labels, ElementsAre(101, 102, kNo));
}

// TPT-01
TEST(BatchSource, CountsRealTokensWhateverThePadding) {
  const TextDataset dataset = unequal_lengths();
  const Sum pairs = run_epochs(dataset, {.batch_size = 2}, 1);
  EXPECT_EQ(pairs.nonpad, 18);
  EXPECT_EQ(pairs.tokens, 26);
  EXPECT_EQ(pairs.trained, 14);
  const Sum singles = run_epochs(dataset, {.batch_size = 1}, 1);
  EXPECT_EQ(singles.nonpad, 18);
  EXPECT_EQ(singles.tokens, 18);
}

// TPT-07
TEST(BatchSource, DoesTheSameWorkByAccumulationAsByBatch) {
  const TextDataset dataset = unequal_lengths();
  const Sum accumulated = run_epochs(dataset, {.batch_size = 1, .accumulation = 4}, 1);
  const Sum batched = run_epochs(dataset, {.batch_size = 4, .accumulation = 1}, 1);
  EXPECT_EQ(accumulated.steps, 1);
  EXPECT_EQ(batched.steps, 1);
  EXPECT_EQ(accumulated.nonpad, 18);
  EXPECT_EQ(batched.nonpad, 18);
}

// OPT-02
TEST(BatchSource, RoundsStepsUpAndSeesEverySampleOnceAnEpoch) {
  std::vector<std::string> texts;
  for (std::size_t i = 1; i <= 9; ++i) {
    texts.emplace_back(2 * i, 'a');
  }
  const Sum nine = run_epochs(TextDataset(texts), {.batch_size = 2, .accumulation = 2}, 3);
  EXPECT_EQ(nine.steps, 9);
  EXPECT_EQ(nine.samples, 27);
  texts.resize(3);
  const Sum three = run_epochs(TextDataset(texts), {.batch_size = 1, .accumulation = 4}, 1);
  EXPECT_EQ(three.steps, 1);
  EXPECT_EQ(three.samples, 3);
}

TEST(BatchSource, RepeatsTheFirstEpochInLaterOnes) {
  const TextDataset dataset = unequal_lengths();
  const auto tokenizer = make_byte_tokenizer();
  BatchSource source(dataset, *tokenizer, {.batch_size = 1, .accumulation = 3});
  ASSERT_EQ(source.steps_per_epoch(), 2);
  EXPECT_THAT(source.step(0), SizeIs(3));
  EXPECT_THAT(source.step(1), SizeIs(1));
  EXPECT_EQ(source.step(3).at(0).ids, source.step(1).at(0).ids);
}

// DAT-08
TEST(BatchSource, TrainsOneShortBatchWhenSamplesAreFewerThanTheBatch) {
  const TextDataset dataset({"aa", "bb", "cc"});
  const auto tokenizer = make_byte_tokenizer();
  BatchSource source(dataset, *tokenizer, {.batch_size = 8});
  EXPECT_EQ(source.steps_per_epoch(), 1);
  EXPECT_EQ(source.step(0).at(0).samples, 3);
}

// DAT-05
TEST(BatchSource, TrainsOnlyWhatFollowsTheResponseTemplate) {
  const MicroBatch batch =
      only_batch({"q ### Response: yz", "no marker here"}, {.response_template = "### Response:"});
  EXPECT_EQ(batch.tokens_trained, 3);
  EXPECT_EQ(batch.tokens_nonpad, 32);
  std::vector<std::int32_t> trained;
  for (const std::int32_t label : batch.labels) {
    if (label != kNo) {
      trained.push_back(label);
    }
  }
  EXPECT_THAT(trained, ElementsAre(3 + ' ', 3 + 'y', 3 + 'z'));
}

TEST(BatchSource, TakesTheLastOccurrenceOfTheTemplate) {
  const MicroBatch batch = only_batch({"A:x A:yz"}, {.response_template = "A:"});
  EXPECT_EQ(batch.tokens_trained, 2);
}

TEST(BatchSource, TrainsNothingOfASampleWhoseAnswerWasCutAway) {
  const MicroBatch batch =
      only_batch({"aaaaaaaa A:yz", "A:yz"}, {.max_length = 6, .response_template = "A:"});
  EXPECT_EQ(batch.tokens_trained, 2);
}

TEST(BatchSource, TrainsTheFirstTokenOnlyOfWhatHasOneBeforeIt) {
  EXPECT_EQ(only_batch({"a", "bc"}, {}).tokens_trained, 1);
}

TEST(BatchSource, KeepsASampleWithoutTokensAsPadding) {
  const MicroBatch batch = only_batch({"", "ab"}, {.pad_token = 7});
  EXPECT_THAT(batch.ids, ElementsAre(7, 7, 100, 101));
  EXPECT_THAT(batch.labels, ElementsAre(kNo, kNo, 101, kNo));
  EXPECT_EQ(batch.samples, 2);
}

TEST(BatchSource, GivesAMicroBatchOfEmptySamplesOnePaddedPosition) {
  const TextDataset dataset({"", "ab"});
  const auto tokenizer = make_byte_tokenizer();
  BatchSource source(dataset, *tokenizer, {});
  const MicroBatch batch = source.step(0).at(0);
  EXPECT_EQ(batch.length, 1);
  EXPECT_EQ(batch.tokens_nonpad, 0);
  EXPECT_EQ(batch.tokens_trained, 0);
}

// DAT-05
TEST(BatchSource, RefusesASetWithoutTheTemplate) {
  EXPECT_EQ(batch_refusal({"abc", "def"}, {.response_template = "\n### Response:"}),
            "texts: 0 of 2 samples contain the response template '\\x0A### Response:', so there is "
            "nothing to train");
}

TEST(BatchSource, RefusesASetWhoseAnswersAreAllCutAway) {
  EXPECT_EQ(batch_refusal({"abcdefgh A:x", "y"}, {.max_length = 4, .response_template = "A:"}),
            "texts: 1 of 2 samples contain the response template 'A:', but none has a token after "
            "it within model_max_length 4");
}

TEST(BatchSource, RefusesASetWithNothingToPredict) {
  EXPECT_EQ(
      batch_refusal({"", "a"}, {}),
      "texts: none of 2 samples has 2 tokens within model_max_length 512, so there is nothing "
      "to train");
}

TEST(BatchSource, RefusesADatasetWithoutRecords) {
  EXPECT_EQ(batch_refusal({}, {}), "texts: has no records");
}

TEST(BatchSource, RefusesOptionsBelowOne) {
  EXPECT_EQ(batch_refusal({"abc"}, {.batch_size = 0}), "batch_size is 0, not 1 or more");
  EXPECT_EQ(batch_refusal({"abc"}, {.accumulation = -1}),
            "gradient_accumulation_steps is -1, not 1 or more");
  EXPECT_EQ(batch_refusal({"abc"}, {.max_length = 0}), "model_max_length is 0, not 1 or more");
}

}  // namespace
}  // namespace tunebench::data
