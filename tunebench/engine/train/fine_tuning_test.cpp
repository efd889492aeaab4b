#include "tunebench/engine/train/fine_tuning.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/train/test_backends.h"

namespace tunebench::engine {
namespace {

model::ModelSource tiny_source() {
  model::ModelSource source;
  source.spec.name = "test";
  source.spec.model_type = "llama";
  source.spec.vocabulary = 41;
  source.spec.width = 16;
  source.spec.layers = 4;
  source.spec.heads = 4;
  source.spec.kv_heads = 2;
  source.spec.head_width = 8;
  source.spec.feed_forward = 24;
  source.spec.max_positions = 64;
  source.spec.initializer_range = 0.2;
  return source;
}

FineTuningOptions tiny_options() {
  FineTuningOptions options;
  options.max_samples = 4;
  options.max_length = 12;
  options.schedule = {.kind = "constant", .peak = 1e-3, .total_steps = 100};
  return options;
}

data::MicroBatch tiny_batch(std::int64_t samples, std::int64_t length, std::uint64_t seed) {
  data::MicroBatch batch;
  batch.samples = samples;
  batch.length = length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(
        static_cast<std::int32_t>(uniform_int(seed, 0, static_cast<std::uint64_t>(i), 41)));
  }
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    const bool last = (i + 1) % length == 0;
    batch.labels.push_back(last ? data::kIgnoredLabel : batch.ids[static_cast<std::size_t>(i + 1)]);
  }
  return batch;
}

/// Samples [first, first + count) of a batch, as a batch.
data::MicroBatch part_of(const data::MicroBatch& batch, std::int64_t first, std::int64_t count) {
  data::MicroBatch part;
  part.samples = count;
  part.length = batch.length;
  const auto begin = first * batch.length;
  const auto end = begin + count * batch.length;
  part.ids.assign(batch.ids.begin() + begin, batch.ids.begin() + end);
  part.labels.assign(batch.labels.begin() + begin, batch.labels.begin() + end);
  return part;
}

std::vector<float> weights_of(const FineTuning& tuning, const model::ModelSpec& spec) {
  std::vector<float> all;
  for (const model::TensorShape& tensor : model::tensor_shapes(spec)) {
    const View view = tuning.parameter(tensor.name);
    all.insert(all.end(), view.f32(), view.f32() + view.elements());
  }
  return all;
}

std::int64_t planned_bytes(Recompute rung) {
  return FineTuning::plan(tiny_source().spec, tiny_options(), rung, *make_ref_ops(DType::F32))
      .bytes;
}

class FineTuningTest : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] FineTuning start(const FineTuningOptions& options = tiny_options()) const {
    return {source_, options, make_test_ops(GetParam())};
  }
  model::ModelSource source_ = tiny_source();
};

INSTANTIATE_TEST_SUITE_P(Backends, FineTuningTest, testing::ValuesIn(test_backends()),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param;
                         });

TEST_P(FineTuningTest, LearnsOneBatchByHeart) {
  FineTuningOptions options = tiny_options();
  options.schedule.peak = 1e-2;
  FineTuning tuning = start(options);
  const std::vector<data::MicroBatch> batch = {tiny_batch(4, 12, 1)};
  double loss = tuning.step(batch).loss;
  EXPECT_GT(loss, 3.0);
  for (int i = 0; i < 150; ++i) {
    loss = tuning.step(batch).loss;
  }
  EXPECT_LT(loss, 0.05);
}

TEST_P(FineTuningTest, TheSameSeedGivesTheSameBitsAndAnotherSeedDoesNot) {
  FineTuningOptions other = tiny_options();
  other.seed = 2;
  FineTuning first = start();
  FineTuning second = start();
  FineTuning third = start(other);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::vector<data::MicroBatch> batch = {tiny_batch(3, 12, i), tiny_batch(4, 7, i + 50)};
    const StepResult result = first.step(batch);
    const StepResult repeated = second.step(batch);
    EXPECT_EQ(result.loss, repeated.loss);
    EXPECT_EQ(result.grad_norm, repeated.grad_norm);
    EXPECT_NE(result.loss, third.step(batch).loss);
  }
  EXPECT_EQ(weights_of(first, source_.spec), weights_of(second, source_.spec));
}

// OPT-01
TEST_P(FineTuningTest, FourMicroBatchesOfUnequalLabelsEqualOneBatch) {
  data::MicroBatch whole = tiny_batch(4, 12, 9);
  for (const auto& [sample, masked] : {std::pair{0, 10}, {1, 2}, {3, 7}}) {
    std::fill_n(whole.labels.begin() + sample * 12, masked, data::kIgnoredLabel);
  }
  std::vector<data::MicroBatch> parts;
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    parts.push_back(part_of(whole, sample, 1));
  }
  FineTuning at_once = start();
  FineTuning in_parts = start();
  const StepResult wanted = at_once.step(std::vector{whole});
  const StepResult got = in_parts.step(parts);
  EXPECT_NEAR(got.loss, wanted.loss, 1e-6 * wanted.loss);
  EXPECT_NEAR(got.grad_norm, wanted.grad_norm, 1e-5 * wanted.grad_norm);
  for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
    EXPECT_LT(relative_difference(in_parts.gradient(tensor.name), at_once.gradient(tensor.name)),
              1e-5)
        << tensor.name;
  }
}

TEST_P(FineTuningTest, TheLossIsTheMeanOverAllTrainedTokensOfTheStep) {
  const data::MicroBatch few = tiny_batch(1, 3, 1);
  const data::MicroBatch many = tiny_batch(4, 12, 2);
  FineTuning both = start();
  FineTuning only_few = start();
  FineTuning only_many = start();
  const double expected =
      (2 * only_few.step(std::vector{few}).loss + 44 * only_many.step(std::vector{many}).loss) / 46;
  EXPECT_NEAR(both.step(std::vector{few, many}).loss, expected, 1e-6 * expected);
}

TEST_P(FineTuningTest, EveryRungGivesTheSameBits) {
  std::vector<std::vector<float>> weights;
  for (const Recompute rung : kRecomputeLadder) {
    FineTuningOptions options = tiny_options();
    options.memory_bytes =
        FineTuning::plan(source_.spec, options, rung, *make_test_ops(GetParam())).bytes;
    FineTuning tuning = start(options);
    EXPECT_EQ(tuning.recompute(), rung);
    for (std::uint64_t i = 0; i < 3; ++i) {
      static_cast<void>(tuning.step(std::vector{tiny_batch(4, 12, i), tiny_batch(2, 9, i)}));
    }
    weights.push_back(weights_of(tuning, source_.spec));
    EXPECT_EQ(weights.back(), weights.front()) << recompute_name(rung);
  }
}

TEST_P(FineTuningTest, UsesExactlyThePlannedMemoryHoweverManyStepsItTakes) {
  FineTuning tuning = start();
  for (std::uint64_t i = 0; i < 20; ++i) {
    static_cast<void>(tuning.step(std::vector{tiny_batch(4, 12, i), tiny_batch(1, 5, i)}));
    ASSERT_EQ(tuning.memory_high_water(), tuning.planned().bytes) << "step " << i;
  }
  std::int64_t sum = 0;
  for (const Arena::Part& part : tuning.memory_parts()) {
    sum += part.bytes;
  }
  EXPECT_EQ(sum, tuning.memory_high_water());
}

// OPT-08
TEST_P(FineTuningTest, SkipsAndMarksAStepThatIsNotFinite) {
  FineTuningOptions options = tiny_options();
  options.schedule.peak = 1e30;
  options.max_grad_norm = 0;
  FineTuning tuning = start(options);
  const std::vector<data::MicroBatch> batch = {tiny_batch(4, 12, 1)};
  EXPECT_TRUE(tuning.step(batch).finite);
  const std::vector<float> ruined = weights_of(tuning, source_.spec);
  const StepResult result = tuning.step(batch);
  EXPECT_FALSE(result.finite);
  const std::vector<float> after = weights_of(tuning, source_.spec);
  EXPECT_EQ(std::memcmp(after.data(), ruined.data(), after.size() * sizeof(float)), 0);
}

TEST_P(FineTuningTest, AStepWithoutTrainedTokensHasNoLossAndLeavesTheWeights) {
  FineTuning tuning = start();
  const std::vector<float> before = weights_of(tuning, source_.spec);
  data::MicroBatch batch = tiny_batch(2, 6, 1);
  std::fill(batch.labels.begin(), batch.labels.end(), data::kIgnoredLabel);
  const StepResult result = tuning.step(std::vector{batch});
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_FALSE(result.finite);
  EXPECT_EQ(weights_of(tuning, source_.spec), before);
}

TEST_P(FineTuningTest, ReportsTheNormBeforeClipping) {
  FineTuningOptions options = tiny_options();
  options.max_grad_norm = 1e-3;
  FineTuning clipped = start(options);
  options.max_grad_norm = 0;
  FineTuning free = start(options);
  const std::vector<data::MicroBatch> batch = {tiny_batch(4, 12, 1)};
  EXPECT_EQ(clipped.step(batch).grad_norm, free.step(batch).grad_norm);
  EXPECT_GT(clipped.step(batch).grad_norm, 0.1);
}

// OPT-04
TEST_P(FineTuningTest, AdvancesTheScheduleOncePerStepWhateverTheAccumulation) {
  FineTuningOptions options = tiny_options();
  options.schedule = {.kind = "cosine", .peak = 1e-5, .total_steps = 10, .warmup_steps = 1};
  FineTuning tuning = start(options);
  const std::vector<data::MicroBatch> four(4, tiny_batch(1, 4, 1));
  for (std::int64_t step = 0; step < 10; ++step) {
    EXPECT_EQ(tuning.step(four).learning_rate, options.schedule.rate(step));
  }
}

TEST_P(FineTuningTest, MasterWeightsMoveLessThanTheStoredTypeCouldShow) {
  FineTuningOptions options = tiny_options();
  options.schedule.peak = 1e-5;  // the smallest step of bfloat16 below 1 is 0.004
  FineTuning tuning = start(options);
  static_cast<void>(tuning.step(std::vector{tiny_batch(4, 12, 1)}));
  const View norm = tuning.parameter("model.norm.weight");
  for (std::int64_t i = 0; i < norm.elements(); ++i) {
    EXPECT_NE(norm.f32()[i], 1.0F);
    EXPECT_NEAR(norm.f32()[i], 1.0F, 2e-5F);
  }
}

TEST_P(FineTuningTest, RefusesTokensOutsideTheVocabulary) {
  FineTuning tuning = start();
  data::MicroBatch batch = tiny_batch(1, 4, 1);
  batch.ids[2] = 41;
  try {
    static_cast<void>(tuning.step(std::vector{batch}));
    FAIL() << "took id 41 of 41";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error.message(),
              "token id 41 is outside the model's vocabulary of 41; the tokenizer does not belong "
              "to this model");
  }
  batch.ids[2] = 40;
  batch.labels[1] = -1;
  EXPECT_THROW(static_cast<void>(tuning.step(std::vector{batch})), Error);
}

TEST_P(FineTuningTest, RefusesAMicroBatchLargerThanPlanned) {
  FineTuning tuning = start();
  try {
    static_cast<void>(tuning.step(std::vector{tiny_batch(4, 13, 1)}));
    FAIL() << "took 4 x 13";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a micro-batch of 4 x 13 tokens is larger than the planned 4 x 12");
  }
}

TEST(FineTuningPlanTest, TakesTheMildestRungThatFits) {
  for (std::size_t i = 1; i < kRecomputeLadder.size(); ++i) {
    FineTuningOptions options = tiny_options();
    options.memory_bytes = planned_bytes(kRecomputeLadder.at(i - 1)) - 1;
    const FineTuning tuning(tiny_source(), options, make_ref_ops(DType::F32));
    EXPECT_EQ(tuning.recompute(), kRecomputeLadder.at(i));
    EXPECT_LE(tuning.planned().bytes, options.memory_bytes);
  }
}

TEST(FineTuningPlanTest, KeepsEverythingWhenMemoryIsNotBounded) {
  const FineTuning tuning(tiny_source(), tiny_options(), make_ref_ops(DType::F32));
  EXPECT_EQ(tuning.recompute(), Recompute::None);
}

TEST(FineTuningPlanTest, SaysWhatIsNeededAndAvailableWhenNoRungFits) {
  FineTuningOptions options = tiny_options();
  options.memory_bytes = planned_bytes(Recompute::Block) - 1;
  try {
    const FineTuning tuning(tiny_source(), options, make_ref_ops(DType::F32));
    FAIL() << "fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_THAT(error.message(), testing::StartsWith("batch_size 4 x model_max_length 12 needs"));
    EXPECT_THAT(error.message(), testing::HasSubstr("weights "));
    EXPECT_THAT(error.message(),
                testing::EndsWith("bytes are available; lower batch_size or model_max_length"));
  }
}

TEST(FineTuningPlanTest, GoesBeyondTheMemoryWithItsSmallestRungWhenItMay) {
  FineTuningOptions options = tiny_options();
  options.exceed_memory = true;
  options.memory_bytes = planned_bytes(Recompute::Block) - 1;
  const std::unique_ptr<Ops> ops = make_ref_ops(DType::F32);
  EXPECT_EQ(FineTuning::choose(tiny_source().spec, options, *ops).rung, Recompute::Block);
  options.memory_bytes = planned_bytes(Recompute::None);
  EXPECT_EQ(FineTuning::choose(tiny_source().spec, options, *ops).rung, Recompute::None)
      << "what fits is chosen as always";
}

TEST(FineTuningPlanTest, DoesNotRecomputeWhenThatIsNotAllowed) {
  FineTuningOptions options = tiny_options();
  options.allow_recompute = false;
  options.memory_bytes = planned_bytes(Recompute::None) - 1;
  try {
    const FineTuning tuning(tiny_source(), options, make_ref_ops(DType::F32));
    FAIL() << "recomputes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_THAT(error.message(), testing::EndsWith(", or allow gradient_checkpointing"));
  }
}

TEST(FineTuningPlanTest, RefusesBatchesBeyondAnyMemoryInOneLine) {
  for (const std::int64_t samples : {std::int64_t{1} << 29, std::int64_t{1} << 60}) {
    FineTuningOptions options = tiny_options();
    options.max_samples = samples;
    options.max_length = 3;
    model::ModelSource wide = tiny_source();
    wide.spec.feed_forward = 1 << 20;
    try {
      const FineTuning tuning(wide, options, make_ref_ops(DType::F32));
      FAIL() << "planned " << samples;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
    }
  }
}

TEST(FineTuningPlanTest, RefusesAnUnknownScheduleBeforeAnyWork) {
  FineTuningOptions options = tiny_options();
  options.schedule.kind = "step";
  EXPECT_THROW(FineTuning(tiny_source(), options, make_ref_ops(DType::F32)), Error);
}

TEST(FineTuningPlanTest, StateOfFullFineTuningIsFourTimesTheWeights) {
  const FineTuning::Plan plan = FineTuning::plan(tiny_source().spec, tiny_options(),
                                                 Recompute::None, *make_ref_ops(DType::F32));
  std::int64_t state = 0;
  for (const Arena::Part& part : plan.parts) {
    if (part.name == "weights" || part.name == "gradients" || part.name == "optimizer") {
      state += part.bytes;
    }
  }
  const std::int64_t exact = model::state_bytes_full_fine_tuning(tiny_source().spec);
  EXPECT_GE(state, exact);
  EXPECT_LT(state, exact + exact / 20);  // alignment
}

TEST(FineTuningPlanTest, SmolLm2OfOneSequenceOf512KeepsEverythingInLessThanThreeAndAHalfGigabytes) {
  const std::unique_ptr<Ops> ops = make_cpu_ops(2);
  FineTuningOptions options;
  options.max_length = 512;
  const model::ModelSpec spec = model::resolve_model("smollm2-135m").spec;
  // Weights, gradients and moments alone are 2.15 GB.
  const std::int64_t bytes = FineTuning::plan(spec, options, Recompute::None, *ops).bytes;
  EXPECT_GT(bytes, 2'152'240'128);
  EXPECT_LT(bytes, 2'900'000'000);
}

}  // namespace
}  // namespace tunebench::engine
