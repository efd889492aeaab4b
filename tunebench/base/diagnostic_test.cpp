#include "tunebench/base/diagnostic.h"

#include <gtest/gtest.h>

namespace tunebench {
namespace {

const std::vector<std::string> kWords = {"batch_size",  "model_name", "model_max_length",
                                         "number_gpus", "r",          "seed"};

TEST(DiagnosticTest, OneLineOfPlaceTextAndHint) {
  EXPECT_EQ((Diagnostic{"--batch", "0 is too small", "use 1 or more"}).line(),
            "--batch: 0 is too small - use 1 or more");
  EXPECT_EQ((Diagnostic{"", "nothing to measure", ""}).line(), "nothing to measure");
}

TEST(NearestWordTest, ForgivesTwoSlips) {
  EXPECT_EQ(nearest_word("batchsize", kWords), "batch_size");
  EXPECT_EQ(nearest_word("btach_size", kWords), "batch_size");
  EXPECT_EQ(nearest_word("batch_sise2", kWords), "batch_size");
  EXPECT_EQ(nearest_word("sede", kWords), "seed");
}

TEST(NearestWordTest, DoesNotForgiveThree) {
  EXPECT_EQ(nearest_word("btch_sze2", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("zebra", kWords), std::nullopt);
}

TEST(NearestWordTest, CaseAndDashesDoNotCount) {
  EXPECT_EQ(nearest_word("Batch-Size", kWords), "batch_size");
  EXPECT_EQ(nearest_word("NUMBER-GPU", kWords), "number_gpus");
}

TEST(NearestWordTest, TakesTheOnlyContinuationOfAPrefix) {
  EXPECT_EQ(nearest_word("model_max", kWords), "model_max_length");
  EXPECT_EQ(nearest_word("numb", kWords), "number_gpus");
  EXPECT_EQ(nearest_word("model_", kWords), std::nullopt);
}

TEST(NearestWordTest, ShortWordsMustBeCloser) {
  const std::vector<std::string> gpus = {"A100", "H200", "T4"};
  EXPECT_EQ(nearest_word("T5", gpus), "T4");
  EXPECT_EQ(nearest_word("V9", gpus), std::nullopt);
}

TEST(NearestWordTest, NothingIsNearNothing) {
  EXPECT_EQ(nearest_word("", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("seed", {}), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(5000, 's'), kWords), std::nullopt);
}

TEST(NearestWordTest, AsksWhetherItWasMeant) {
  EXPECT_EQ(did_you_mean("sed", kWords), "did you mean 'seed'?");
  EXPECT_EQ(did_you_mean("zebra", kWords), "");
}

}  // namespace
}  // namespace tunebench
