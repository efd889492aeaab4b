// A step of a tiny model with an adapter against what PEFT computed (tools/record_adapters.py), and
// what every method promises beside that, on the shape of each recorded adapter.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/methods/adapter_file.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/engine/train/golden_cases.h"
#include "tunebench/engine/train/test_backends.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::engine {
namespace {

const std::filesystem::path kAdapters = std::filesystem::path(TB_GOLDEN_FOLDER) / "adapters";

class AdapterTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  AdapterTest() {
    options_.max_samples = batch_.samples;
    options_.max_length = batch_.length;
    options_.torch_dtype = "float32";
    options_.weight_decay = number("weight_decay");
    options_.max_grad_norm = number("max_grad_norm");
    options_.schedule = {.kind = "constant", .peak = number("learning_rate"), .total_steps = 3};
    options_.method = read_adapter_method(folder_);
    options_.adapter = folder_;
  }

  [[nodiscard]] double number(const char* key) const { return recorded_.at(key).as_double(); }
  [[nodiscard]] double in_list(const char* key, std::size_t step) const {
    return recorded_.at(key).as_array().at(step).as_double();
  }
  [[nodiscard]] model::SafetensorsSet stored(const char* file) const {
    return model::SafetensorsSet::open_file(folder_ / file);
  }
  [[nodiscard]] FineTuning start() const {
    return {source_, options_, make_test_ops(std::get<1>(GetParam()))};
  }
  [[nodiscard]] Matrix logits_of(FineTuning& tuning) const {
    Matrix logits(batch_.tokens(), source_.spec.vocabulary, DType::F32);
    tuning.logits(batch_, logits.view());
    return logits;
  }

  /// What the model calls a tensor of the folder.
  static std::string own_name(const std::string& stored_name) {
    constexpr std::string_view kPrefix = "base_model.model.";
    constexpr std::string_view kLayer = ".base_layer";
    if (!stored_name.starts_with(kPrefix) || stored_name.find(".lora_") != std::string::npos) {
      return stored_name;
    }
    std::string name = stored_name.substr(kPrefix.size());
    const std::size_t layer = name.find(kLayer);
    return layer == std::string::npos ? name : name.erase(layer, kLayer.size());
  }

  /// With dropout, as PEFT would read it from the folder.
  void drop(double probability) {
    Json config = Json::parse(read_file(folder_ / "adapter_config.json"), "adapter_config.json");
    if (config.at("peft_type") == Json("LORA")) {
      config.set("lora_dropout", probability);
    }
    options_.method = make_method(config, "adapter_config.json");
  }

  std::filesystem::path folder_ = kAdapters / std::get<0>(GetParam());
  Json recorded_ = Json::parse(read_file(folder_ / "case.json"), "case.json");
  model::ModelSource source_ = model::resolve_model(
      (std::filesystem::path(TB_GOLDEN_FOLDER) / recorded_.at("model").as_string()).string());
  data::MicroBatch batch_ = recorded_batch(recorded_);
  FineTuningOptions options_;
};

TEST_P(AdapterTest, NamesTheVersionsThatMadeIt) {
  for (const char* library : {"torch", "transformers", "peft"}) {
    EXPECT_FALSE(recorded_.at(library).as_string().empty());
  }
}

TEST_P(AdapterTest, TrainsWhatPeftTrainsAndNothingElse) {
  const FineTuning tuning = start();
  EXPECT_EQ(tuning.trained_parameters(), recorded_.at("trained_parameters").as_int());
  EXPECT_EQ(trained_parameter_count(options_.method.get(), source_.spec),
            tuning.trained_parameters());
  const model::SafetensorsSet adapter = stored("adapter_model.safetensors");
  std::int64_t gradients = 0;
  for (const model::StoredTensor& tensor : adapter.tensors()) {
    gradients += tuning.gradient(own_name(tensor.name)).elements();
  }
  EXPECT_EQ(gradients, tuning.trained_parameters());
  std::int64_t of_the_model = 0;
  for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
    of_the_model += tuning.gradient(tensor.name).elements();
  }
  EXPECT_LT(of_the_model, model::parameter_count(source_.spec));
}

TEST_P(AdapterTest, LogitsAreThoseOfPeft) {
  FineTuning tuning = start();
  const std::vector<std::int32_t> rows = integers(recorded_.at("real_rows"));
  Matrix real(std::ssize(rows), source_.spec.vocabulary, DType::F32);
  Matrix logits = logits_of(tuning);
  make_ref_ops(DType::F32)->gather_rows(logits.view(), rows, real.view());
  Matrix wanted = stored_matrix(stored("logits.safetensors"), "logits", real.view());
  EXPECT_LT(relative_difference(real.view(), wanted.view()), kLossTolerance);
}

TEST_P(AdapterTest, LossNormAndEveryGradientAreThoseOfPeft) {
  FineTuning tuning = start();
  const StepResult result = tuning.step(std::vector{batch_});
  EXPECT_NEAR(result.loss, in_list("losses", 0), kLossTolerance * result.loss);
  EXPECT_NEAR(result.grad_norm, in_list("grad_norms", 0), kLossTolerance * result.grad_norm);
  const model::SafetensorsSet gradients = stored("gradients.safetensors");
  for (const model::StoredTensor& tensor : gradients.tensors()) {
    const View got = tuning.gradient(own_name(tensor.name));
    Matrix wanted = stored_matrix(gradients, tensor.name, got);
    EXPECT_LT(relative_difference(got, wanted.view()), kTensorTolerance) << tensor.name;
  }
}

TEST_P(AdapterTest, TensorsAfterThreeClippedAdamwStepsAreThoseOfPeft) {
  FineTuning tuning = start();
  for (std::size_t step = 0; step < 3; ++step) {
    const StepResult result = tuning.step(std::vector{batch_});
    EXPECT_NEAR(result.loss, in_list("losses", step), kTensorTolerance * result.loss);
    EXPECT_NEAR(result.grad_norm, in_list("grad_norms", step), kTensorTolerance * result.grad_norm);
    EXPECT_GT(result.grad_norm, number("max_grad_norm")) << "this step was not clipped";
  }
  const model::SafetensorsSet trained = stored("trained.safetensors");
  const model::SafetensorsSet gradients = stored("gradients.safetensors");
  const double farthest = 2.0 * 3.0 * 1.1 * number("learning_rate");
  for (const model::StoredTensor& tensor : trained.tensors()) {
    const View got = tuning.parameter(own_name(tensor.name));
    Matrix wanted = stored_matrix(trained, tensor.name, got);
    if (tensor.name.ends_with(".bias")) {
      Matrix gradient = stored_matrix(gradients, tensor.name, got);
      EXPECT_LE(take_out_noise(got, wanted.view(), gradient.view()), farthest);
    }
    EXPECT_LT(relative_difference(got, wanted.view()), kTensorTolerance) << tensor.name;
  }
}

TEST_P(AdapterTest, SavesWhatItLoadedAndLoadsWhatItSaved) {
  const TemporaryFolder saved;
  const FineTuning tuning = start();
  tuning.save_adapter(saved.path(), "the model");
  const model::SafetensorsSet theirs = stored("adapter_model.safetensors");
  const model::SafetensorsSet ours =
      model::SafetensorsSet::open_file(saved.path() / "adapter_model.safetensors");
  ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const model::StoredTensor& tensor : theirs.tensors()) {
    const model::StoredTensor* const same = ours.find(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_EQ(same->shape, tensor.shape) << tensor.name;
    ASSERT_EQ(same->bytes.size(), tensor.bytes.size()) << tensor.name;
    EXPECT_EQ(std::memcmp(same->bytes.data(), tensor.bytes.data(), tensor.bytes.size()), 0)
        << tensor.name;
  }
  FineTuningOptions again = options_;
  again.method = read_adapter_method(saved.path());
  again.adapter = saved.path();
  FineTuning loaded(source_, again, make_test_ops(std::get<1>(GetParam())));
  FineTuning first = start();
  EXPECT_EQ(loaded.step(std::vector{batch_}).loss, first.step(std::vector{batch_}).loss);
}

TEST_P(AdapterTest, PeftComputesTheSameFromWhatItSaved) {
  const char* const python = std::getenv("TB_PEFT_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "TB_PEFT_PYTHON names no Python with torch, transformers and peft";
  }
  const TemporaryFolder saved;
  FineTuning tuning = start();
  for (int step = 0; step < 2; ++step) {
    static_cast<void>(tuning.step(std::vector{batch_}));
  }
  tuning.save_adapter(saved.path() / "adapter", "");
  ChildSpec spec;
  spec.argv = {python,
               (std::filesystem::path(TB_SOURCE_FOLDER) / "tools" / "load_adapter.py").string(),
               source_.folder->string(),
               (saved.path() / "adapter").string(),
               (folder_ / "case.json").string(),
               (saved.path() / "logits.safetensors").string()};
  spec.log_file = saved.path() / "log";
  Child child = Child::start(spec);
  const std::optional<ExitStatus> exit = child.wait_for(std::chrono::minutes(5));
  ASSERT_TRUE(exit.has_value() && exit->ok()) << read_file(spec.log_file);
  const std::vector<std::int32_t> rows = integers(recorded_.at("real_rows"));
  Matrix real(std::ssize(rows), source_.spec.vocabulary, DType::F32);
  Matrix logits = logits_of(tuning);
  make_ref_ops(DType::F32)->gather_rows(logits.view(), rows, real.view());
  Matrix theirs = stored_matrix(
      model::SafetensorsSet::open_file(saved.path() / "logits.safetensors"), "logits", real.view());
  EXPECT_LT(relative_difference(real.view(), theirs.view()), kLossTolerance);
}

TEST_P(AdapterTest, ANewAdapterChangesNothingYet) {
  if (options_.method->virtual_tokens() > 0) {
    GTEST_SKIP() << "tokens before a text change it from the start";
  }
  options_.adapter.clear();
  FineTuning tuning = start();
  options_.method.reset();
  FineTuning plain = start();
  Matrix with = logits_of(tuning);
  Matrix without = logits_of(plain);
  EXPECT_LT(relative_difference(with.view(), without.view()), 1e-6);
}

TEST_P(AdapterTest, EveryRungGivesTheSameBitsInThePlannedMemoryAlsoWithDropout) {
  make_deep(source_);
  options_.adapter.clear();
  drop(0.2);
  data::MicroBatch shorter = batch_;
  shorter.samples = 1;
  shorter.ids.resize(static_cast<std::size_t>(shorter.length));
  shorter.labels.resize(static_cast<std::size_t>(shorter.length));
  shorter.lengths.resize(1);
  data::MicroBatch whole = batch_;
  std::replace(whole.labels.begin(), whole.labels.end(), data::kIgnoredLabel, 1);
  std::vector<double> kept;
  for (const Recompute rung : kRecomputeLadder) {
    options_.memory_bytes =
        FineTuning::plan(source_.spec, options_, rung, *make_test_ops(std::get<1>(GetParam())))
            .bytes;
    FineTuning tuning = start();
    ASSERT_EQ(tuning.recompute(), rung);
    std::vector<double> numbers;
    for (int step = 0; step < 3; ++step) {
      const StepResult result = tuning.step(std::vector{whole, shorter});
      numbers.push_back(result.loss);
      numbers.push_back(result.grad_norm);
      ASSERT_EQ(tuning.memory_high_water(), tuning.planned().bytes);
    }
    kept = kept.empty() ? numbers : kept;
    EXPECT_EQ(numbers, kept) << recompute_name(rung);
  }
}

TEST_P(AdapterTest, MicroBatchesEqualOneBatchAlsoWithDropout) {
  drop(0.2);
  FineTuning whole = start();
  FineTuning parts = start();
  std::vector<data::MicroBatch> samples;
  for (std::int64_t i = 0; i < batch_.samples; ++i) {
    data::MicroBatch& sample = samples.emplace_back();
    sample.samples = 1;
    sample.length = batch_.length;
    const std::int64_t first = i * batch_.length;
    const std::int64_t end = first + batch_.length;
    sample.ids.assign(batch_.ids.begin() + first, batch_.ids.begin() + end);
    sample.labels.assign(batch_.labels.begin() + first, batch_.labels.begin() + end);
  }
  for (int step = 0; step < 2; ++step) {
    const StepResult one = whole.step(std::vector{batch_});
    const StepResult several = parts.step(samples);
    EXPECT_NEAR(several.loss, one.loss, 1e-5 * one.loss);
    EXPECT_NEAR(several.grad_norm, one.grad_norm, 1e-4 * one.grad_norm);
  }
}

TEST(AdapterMemory, AFrozenSmolLm2NeedsItsWeightsAndActivationsOnly) {
  const model::ModelSpec spec = model::resolve_model("smollm2-135m").spec;
  FineTuningOptions options;
  const auto part = [](const FineTuning::Plan& plan, std::string_view name) {
    for (const Arena::Part& one : plan.parts) {
      if (one.name == name) {
        return one.bytes;
      }
    }
    return std::int64_t{0};
  };
  const std::unique_ptr<Ops> ops = make_cpu_ops(2);
  const FineTuning::Plan full = FineTuning::plan(spec, options, Recompute::None, *ops);
  options.method =
      make_method(Json::object({{"peft_type", "LORA"}, {"r", 8}, {"lora_dropout", 0.05}}), "test");
  const FineTuning::Plan lora = FineTuning::plan(spec, options, Recompute::None, *ops);
  // Each of the 120 matrices begins at a whole line.
  const std::int64_t trained = trained_parameter_count(options.method.get(), spec) * 4;
  EXPECT_NEAR(static_cast<double>(part(lora, "gradients")), static_cast<double>(trained), 120 * 64);
  EXPECT_EQ(part(lora, "optimizer"), 2 * part(lora, "gradients"));
  EXPECT_EQ(part(lora, "weights"), part(full, "weights") + part(lora, "gradients"));
  EXPECT_EQ(part(lora, "activations"), part(full, "activations"));
  EXPECT_LT(lora.bytes, std::int64_t{1'200'000'000});
  EXPECT_GT(full.bytes, std::int64_t{2'600'000'000});
}

INSTANTIATE_TEST_SUITE_P(Adapters, AdapterTest,
                         testing::Combine(testing::ValuesIn(golden_cases(kAdapters, "case.json")),
                                          testing::ValuesIn(test_backends())),
                         [](const testing::TestParamInfo<AdapterTest::ParamType>& test) {
                           return golden_name(test.param);
                         });

}  // namespace
}  // namespace tunebench::engine
