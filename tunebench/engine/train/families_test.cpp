// What every family promises beside its recorded values, on the shape of each recorded model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/random.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/engine/train/golden_cases.h"
#include "tunebench/engine/train/test_backends.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/safetensors.h"
#include "tunebench/model/safetensors_writer.h"

namespace tunebench::engine {
namespace {

constexpr std::int64_t kSamples = 3;
constexpr std::int64_t kLength = 11;

data::MicroBatch family_batch(const model::ModelSpec& spec, std::int64_t samples,
                              std::int64_t length, std::uint64_t seed) {
  data::MicroBatch batch;
  batch.samples = samples;
  batch.length = length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(uniform_int(
        seed, 0, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(spec.vocabulary))));
  }
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    const bool last = (i + 1) % length == 0;
    batch.labels.push_back(last ? data::kIgnoredLabel : batch.ids[static_cast<std::size_t>(i + 1)]);
  }
  return batch;
}

/// The same tensors in another stored type.
void write_as(const model::SafetensorsSet& stored, model::StoredType type,
              const std::filesystem::path& file) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<model::TensorToStore> tensors;
  for (const model::StoredTensor& tensor : stored.tensors()) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    stored.read_float32(tensor, values);
    std::vector<std::byte>& bytes = memory.emplace_back();
    for (const float value : values) {
      const auto append = [&bytes](const auto& number) {
        const auto raw = std::as_bytes(std::span(&number, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
      };
      if (type == model::StoredType::F32) {
        append(value);
      } else if (type == model::StoredType::BF16) {
        append(model::bfloat16_from_float(value));
      } else {
        append(model::half_from_float(value));
      }
    }
    tensors.push_back({tensor.name, type, tensor.shape, bytes});
  }
  model::write_safetensors(file, tensors);
}

class FamiliesTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  FamiliesTest() {
    options_.max_samples = kSamples;
    options_.max_length = kLength;
    options_.torch_dtype = "float32";
    options_.schedule = {.kind = "constant", .peak = 1e-2, .total_steps = 1000};
  }

  [[nodiscard]] FineTuning start() const {
    return {source_, options_, make_test_ops(std::get<1>(GetParam()))};
  }

  /// Random weights, so that how a new model and what is added to it begin is tested, too. A head
  /// that is frozen can be as sure as its input is long and its cap allows, and no surer: the input
  /// is `length_of_input` times what it would be, the cap that of the published models.
  struct ByHeart {
    int most_steps = 600;
    double length_of_input = 1.0;
    double weights = 0.2;  ///< their deviation
    std::int64_t samples = kSamples;
    std::int64_t length = kLength;
  };
  void learn_by_heart(const ByHeart& task) {
    source_.folder.reset();
    source_.spec.initializer_range = task.weights;
    // No batch brings the loss of unbalanced experts below its share times the experts chosen.
    source_.spec.experts.loss_share = std::min(source_.spec.experts.loss_share, 1e-3);
    if (task.length_of_input != 1.0 && source_.spec.logit_cap > 0.0) {
      source_.spec.logit_cap = 30.0;
    }
    FineTuning tuning = start();
    if (task.length_of_input != 1.0) {
      const model::TensorNames& names = model::family_of(source_.spec).names;
      const View norm =
          tuning.parameter(source_.spec.tensor_prefix + std::string(names.final_norm) + ".weight");
      std::fill_n(norm.f32(), norm.cols, static_cast<float>(task.length_of_input));
    }
    const std::vector<data::MicroBatch> batch = {
        family_batch(source_.spec, task.samples, task.length, 1)};
    double loss = tuning.step(batch).loss;
    EXPECT_GT(loss, 2.5);
    int steps = 0;
    for (; steps < task.most_steps && loss >= 0.05; ++steps) {
      loss = tuning.step(batch).loss;
    }
    EXPECT_LT(loss, 0.05);
  }

  [[nodiscard]] std::vector<float> weights_of(const FineTuning& tuning) const {
    std::vector<float> all;
    for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
      const View view = tuning.parameter(tensor.name);
      all.insert(all.end(), view.f32(), view.f32() + view.elements());
    }
    return all;
  }

  model::ModelSource source_ = model::resolve_model(
      (std::filesystem::path(TB_GOLDEN_FOLDER) / std::get<0>(GetParam())).string());
  FineTuningOptions options_;
};

TEST_P(FamiliesTest, LearnsOneBatchByHeart) {
  learn_by_heart({});
}

TEST_P(FamiliesTest, LearnsOneBatchByHeartWithLora) {
  const bool experts = source_.spec.experts.count > 0;
  options_.method = make_method(
      Json::object({{"peft_type", "LORA"},
                    {"r", 16},
                    {"lora_alpha", 32},
                    {"target_modules", experts ? Json(".*_proj") : Json("all-linear")}}),
      "test");
  learn_by_heart({.length_of_input = 8.0 * source_.spec.logit_divisor});
}

/// One text, as what stands before it is the same for each. It reaches the stream through values
/// alone, so these must weigh something beside the embedding: wide weights, no multipliers.
TEST_P(FamiliesTest, LearnsOneTextByHeartWithPromptTuning) {
  constexpr std::int64_t kText = 3;
  options_.method = make_method(
      Json::object({{"peft_type", "PROMPT_TUNING"}, {"num_virtual_tokens", 8}}), "test");
  options_.schedule.peak = 0.1;
  options_.max_length = kText;
  source_.spec.residual_scale = 1.0;
  source_.spec.embedding_scale = 1.0;
  learn_by_heart({.most_steps = 2000,
                  .length_of_input = 8.0 * source_.spec.logit_divisor,
                  .weights = 0.6,
                  .samples = 1,
                  .length = kText});
}

TEST_P(FamiliesTest, EveryRungGivesTheSameBitsInThePlannedMemory) {
  make_deep(source_);
  std::vector<float> kept;
  for (const Recompute rung : kRecomputeLadder) {
    options_.memory_bytes =
        FineTuning::plan(source_.spec, options_, rung, *make_test_ops(std::get<1>(GetParam())))
            .bytes;
    FineTuning tuning = start();
    ASSERT_EQ(tuning.recompute(), rung);
    for (std::uint64_t i = 0; i < 2; ++i) {
      std::vector<data::MicroBatch> parts = {family_batch(source_.spec, kSamples, kLength, i),
                                             family_batch(source_.spec, 2, 7, i + 50)};
      // The plan is for a batch of which every token is trained.
      std::replace(parts[0].labels.begin(), parts[0].labels.end(), data::kIgnoredLabel, 0);
      static_cast<void>(tuning.step(parts));
      ASSERT_EQ(tuning.memory_high_water(), tuning.planned().bytes);
    }
    const std::vector<float> weights = weights_of(tuning);
    kept = kept.empty() ? weights : kept;
    EXPECT_EQ(weights, kept) << recompute_name(rung);
  }
}

TEST_P(FamiliesTest, LoadsEachStoredTypeAndRoundsToEachTypeAskedFor) {
  const data::MicroBatch batch = family_batch(source_.spec, kSamples, kLength, 4);
  const double wanted = start().step(std::vector{batch}).loss;
  const model::SafetensorsSet stored = model::SafetensorsSet::open_folder(*source_.folder);
  const TemporaryFolder copy;
  std::filesystem::copy(*source_.folder / "config.json", copy.path() / "config.json");
  source_.folder = copy.path();
  for (const model::StoredType type :
       {model::StoredType::F32, model::StoredType::BF16, model::StoredType::F16}) {
    write_as(stored, type, copy.path() / "model.safetensors");
    for (const char* torch_dtype : {"float32", "bfloat16", "float16"}) {
      options_.torch_dtype = torch_dtype;
      // The recorded weights are bfloat16 values, and all but the smallest are float16 values.
      EXPECT_NEAR(start().step(std::vector{batch}).loss, wanted, 1e-4 * wanted)
          << model::stored_type_name(type) << " as " << torch_dtype;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FamiliesTest,
                         testing::Combine(testing::ValuesIn(golden_cases(TB_GOLDEN_FOLDER)),
                                          testing::ValuesIn(test_backends())),
                         [](const testing::TestParamInfo<FamiliesTest::ParamType>& test) {
                           return golden_name(test.param);
                         });

TEST(RecordedFamilies, EachHasARecordedModel) {
  std::vector<std::string> recorded;
  for (const std::string& name : golden_cases(TB_GOLDEN_FOLDER)) {
    recorded.push_back(
        model::resolve_model((std::filesystem::path(TB_GOLDEN_FOLDER) / name).string())
            .spec.model_type);
  }
  for (const model::Family& family : model::families()) {
    EXPECT_NE(std::find(recorded.begin(), recorded.end(), family.model_type), recorded.end())
        << family.model_type;
  }
}

}  // namespace
}  // namespace tunebench::engine
