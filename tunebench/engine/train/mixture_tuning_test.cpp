// Whole steps of models whose blocks hold a mixture of experts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/engine/train/test_backends.h"

namespace tunebench::engine {
namespace {

constexpr std::int64_t kWords = 31;

model::ModelSource mixture_source() {
  model::ModelSource source;
  model::ModelSpec& spec = source.spec;
  spec.name = "mixture";
  spec.model_type = "granitemoeshared";
  spec.vocabulary = kWords;
  spec.width = 16;
  spec.layers = 3;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 4;
  spec.feed_forward = 12;
  spec.max_positions = 64;
  spec.initializer_range = 0.2;
  spec.experts = {.count = 6, .chosen = 2, .shared = 10};
  return source;
}

data::MicroBatch mixture_batch(std::int64_t samples, std::int64_t length, std::uint64_t seed) {
  data::MicroBatch batch;
  batch.samples = samples;
  batch.length = length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(
        static_cast<std::int32_t>(uniform_int(seed, 0, static_cast<std::uint64_t>(i), kWords)));
  }
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    const bool last = (i + 1) % length == 0;
    batch.labels.push_back(last ? data::kIgnoredLabel : batch.ids[static_cast<std::size_t>(i + 1)]);
  }
  return batch;
}

class MixtureTest : public testing::TestWithParam<std::string> {
 protected:
  MixtureTest() {
    options_.max_samples = 4;
    options_.max_length = 10;
    options_.torch_dtype = "float32";
    options_.schedule = {.kind = "constant", .peak = 1e-3, .total_steps = 100};
  }
  [[nodiscard]] FineTuning start() const { return {source_, options_, make_test_ops(GetParam())}; }
  [[nodiscard]] std::vector<float> gradients_of(const FineTuning& tuning) const {
    std::vector<float> all;
    for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
      const View view = tuning.gradient(tensor.name);
      all.insert(all.end(), view.f32(), view.f32() + view.elements());
    }
    return all;
  }

  model::ModelSource source_ = mixture_source();
  FineTuningOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Backends, MixtureTest, testing::ValuesIn(test_backends()),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param;
                         });

TEST_P(MixtureTest, MicroBatchesOfUnequalLabelsEqualOneBatch) {
  data::MicroBatch whole = mixture_batch(4, 10, 3);
  std::fill_n(whole.labels.begin() + 10, 7, data::kIgnoredLabel);
  std::vector<data::MicroBatch> parts;
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    data::MicroBatch& part = parts.emplace_back();
    part.samples = 1;
    part.length = 10;
    part.ids.assign(whole.ids.begin() + sample * 10, whole.ids.begin() + (sample + 1) * 10);
    part.labels.assign(whole.labels.begin() + sample * 10,
                       whole.labels.begin() + (sample + 1) * 10);
  }
  FineTuning at_once = start();
  FineTuning in_parts = start();
  const StepResult wanted = at_once.step(std::vector{whole});
  EXPECT_NEAR(in_parts.step(parts).loss, wanted.loss, 1e-6 * wanted.loss);
  for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
    EXPECT_LT(relative_difference(in_parts.gradient(tensor.name), at_once.gradient(tensor.name)),
              1e-5)
        << tensor.name;
  }
}

// As the trainer of transformers does, which passes the number of labels of the whole step to the
// model and then divides nothing.
TEST_P(MixtureTest, EachMicroBatchAddsItsWholeRouterLoss) {
  const data::MicroBatch batch = mixture_batch(2, 10, 3);
  FineTuning plain = start();
  source_.spec.experts.loss_share = 0.5;
  FineTuning once = start();
  FineTuning twice = start();
  const double tokens = plain.step(std::vector{batch}).loss;
  const double share = once.step(std::vector{batch}).loss - tokens;
  EXPECT_GT(share, 0.9);  // no less than share * chosen, when all are visited alike
  EXPECT_NEAR(twice.step(std::vector{batch, batch}).loss, tokens + 2.0 * share, 1e-5);
  const std::vector<float> of_tokens = gradients_of(plain);
  const std::vector<float> of_one = gradients_of(once);
  const std::vector<float> of_two = gradients_of(twice);
  double apart = 0;
  double size = 0;
  for (std::size_t i = 0; i < of_two.size(); ++i) {
    const double wanted = 2.0 * double{of_one[i]} - double{of_tokens[i]};
    apart += (double{of_two[i]} - wanted) * (double{of_two[i]} - wanted);
    size += wanted * wanted;
  }
  EXPECT_LT(std::sqrt(apart / size), 1e-5);
}

TEST_P(MixtureTest, PaddingTakesNoPartInTheRouterLoss) {
  source_.spec.experts.loss_share = 0.5;
  data::MicroBatch batch = mixture_batch(2, 10, 3);
  batch.lengths = {10, 6};
  std::fill(batch.labels.begin() + 16, batch.labels.end(), data::kIgnoredLabel);
  FineTuning first = start();
  FineTuning second = start();
  FineTuning whole = start();
  const double loss = first.step(std::vector{batch}).loss;
  data::MicroBatch other = batch;
  std::fill(other.ids.begin() + 16, other.ids.end(), 0);
  // The visits of padding change how many rows a product has, and with it how it rounds.
  EXPECT_NEAR(second.step(std::vector{other}).loss, loss, 1e-6 * loss);
  const std::vector<float> wanted = gradients_of(first);
  const std::vector<float> got = gradients_of(second);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 1e-6);
  }
  other.lengths.clear();
  EXPECT_GT(std::abs(whole.step(std::vector{other}).loss - loss), 1e-4);
}

TEST_P(MixtureTest, TheWorstRoutingNeedsThePlannedMemory) {
  for (const Recompute rung : kRecomputeLadder) {
    options_.memory_bytes =
        FineTuning::plan(source_.spec, options_, rung, *make_test_ops(GetParam())).bytes;
    FineTuning tuning = start();
    ASSERT_EQ(tuning.recompute(), rung);
    // All tokens visit the first two.
    for (int layer = 0; layer < 3; ++layer) {
      const View router = tuning.parameter("model.layers." + std::to_string(layer) +
                                           ".block_sparse_moe.router.layer.weight");
      std::fill_n(router.f32(), router.elements(), 0.0F);
    }
    data::MicroBatch batch = mixture_batch(4, 10, 3);
    std::replace(batch.labels.begin(), batch.labels.end(), data::kIgnoredLabel, 0);
    EXPECT_TRUE(tuning.step(std::vector{batch}).finite);
    EXPECT_EQ(tuning.memory_high_water(), tuning.planned().bytes) << recompute_name(rung);
    const View gradient = tuning.gradient("model.layers.0.block_sparse_moe.output_linear.weight");
    EXPECT_NE(gradient.f32()[0], 0.0F);
    // One after the other: expert 2 begins behind two matrices.
    EXPECT_EQ(gradient.f32()[std::int64_t{2} * 16 * 12], 0.0F);
  }
}

TEST_P(MixtureTest, TheSameSeedGivesTheSameBits) {
  source_.spec.experts.loss_share = 0.1;
  FineTuning first = start();
  FineTuning second = start();
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::vector<data::MicroBatch> batch = {mixture_batch(4, 10, i), mixture_batch(3, 7, i)};
    EXPECT_EQ(first.step(batch).loss, second.step(batch).loss);
    EXPECT_EQ(gradients_of(first), gradients_of(second));
  }
}

}  // namespace
}  // namespace tunebench::engine
