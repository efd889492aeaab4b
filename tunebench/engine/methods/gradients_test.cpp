// Every method on a small model in double: gradients against slopes, and what it must leave alone.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/methods/method.h"
#include "tunebench/engine/nn/test_model.h"

namespace tunebench::engine {
namespace {

struct Case {
  std::string name;
  Json config;
  model::ModelSpec spec = test_spec();
  Recompute recompute = Recompute::None;
};

Json config_of(std::string_view settings) {
  return Json::parse(settings, "settings");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](std::string name, std::string_view settings) -> Case& {
    Case& added = all.emplace_back();
    added.name = std::move(name);
    added.config = config_of(settings);
    return added;
  };
  add("LoraOfQueriesAndValues", R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3})");
  add("LoraOfAll", R"({"peft_type": "LORA", "r": 3, "target_modules": "all-linear",
                       "use_rslora": true})")
      .spec.tied_head = true;
  add("LoraWithDropout", R"({"peft_type": "LORA", "r": 2, "target_modules": "all-linear",
                             "lora_dropout": 0.3})");
  Case& biases = add("LoraWithAllBiases", R"({"peft_type": "LORA", "r": 2, "bias": "all"})");
  biases.spec.qkv_bias = true;
  biases.spec.output_bias = true;
  biases.spec.mlp_bias = true;
  biases.spec.norm = model::NormKind::Layer;
  Case& own = add("LoraWithItsBiases", R"({"peft_type": "LORA", "r": 2, "bias": "lora_only",
                                          "target_modules": ["k_proj", "up_proj"]})");
  own.spec.qkv_bias = true;
  own.spec.mlp_bias = true;
  Case& saved = add("LoraWithSavedModules", R"({"peft_type": "LORA", "r": 2, "modules_to_save":
      ["lm_head", "v_proj", "k_norm", "post_attention_layernorm"], "target_modules": ["q_proj"]})");
  saved.spec.model_type = "qwen3";
  saved.spec.tied_head = true;
  saved.spec.qk_norm = true;
  Case& embedding = add("LoraWithSavedEmbedding", R"({"peft_type": "LORA", "r": 2,
      "target_modules": ["query_key_value"],
      "modules_to_save": ["word_embeddings", "word_embeddings_layernorm"]})");
  embedding.spec.model_type = "bloom";
  embedding.spec.norm = model::NormKind::Layer;
  embedding.spec.embedding_norm = true;
  embedding.spec.kv_heads = 4;
  embedding.spec.interleaved_qkv = true;
  embedding.spec.positions = model::PositionKind::Alibi;
  embedding.spec.tied_head = true;
  add("PromptOfThree", R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 3})");
  Case& scaled = add("PromptScaledWithTheStream",
                     R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 2})");
  scaled.spec.model_type = "granite";
  scaled.spec.embedding_scale = 3.0;
  Case& beside =
      add("PromptBesideAScaledTable", R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 2})");
  beside.spec.model_type = "gemma2";
  beside.spec.embedding_scale = 3.0;
  Case& learned =
      add("PromptAtLearnedPositions", R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 1})");
  learned.spec.model_type = "gpt_bigcode";
  learned.spec.positions = model::PositionKind::Learned;
  learned.spec.max_positions = 8;
  Case& normed = add("PromptBeforeAnEmbeddingNorm",
                     R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 2})");
  normed.spec.model_type = "bloom";
  normed.spec.norm = model::NormKind::Layer;
  normed.spec.embedding_norm = true;
  for (const Recompute rung : kRecomputeLadder) {
    add("PromptRecompute_" + std::string(recompute_name(rung)),
        R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 3})")
        .recompute = rung;
    add("LoraRecompute_" + std::string(recompute_name(rung)),
        R"({"peft_type": "LORA", "r": 2, "target_modules": "all-linear", "lora_dropout": 0.2})")
        .recompute = rung;
  }
  return all;
}

/// A model with a method, every trained tensor random.
class Adapted {
 public:
  Adapted(const Case& param, const Json& config, const model::ModelSpec& spec)
      : method_(make_method(config, "test")),
        test_(method_->shape(spec), {.largest = {2, 7}, .recompute = param.recompute}, DType::F64,
              7, method_->training(method_->shape(spec)), [&](Parameters& parameters) {
                adapters_.push_back(method_->attach(method_->shape(spec), parameters));
                return method_->prompt(parameters);
              }) {}

  TestModel& operator*() { return test_; }
  TestModel* operator->() { return &test_; }

 private:
  std::unique_ptr<Method> method_;
  std::vector<std::vector<std::unique_ptr<Adapter>>> adapters_;
  TestModel test_;
};

std::vector<Parameters::Named> trained_of(const Parameters& parameters) {
  std::vector<Parameters::Named> trained = parameters.added();
  for (const Parameters::Named& named : parameters.named()) {
    if (named.parameter.trained()) {
      trained.push_back(named);
    }
  }
  return trained;
}

class MethodGradientTest : public testing::TestWithParam<Case> {};

TEST_P(MethodGradientTest, MatchSlopesForEveryTrainedTensor) {
  const Case& param = GetParam();
  Adapted adapted(param, param.config, param.spec);
  const data::MicroBatch batch = test_batch(param.spec, 2, 7, 3);
  const Chance chance{.drops = true, .seed = 11, .step = 4, .first_row = 5};
  const auto loss = [&] { return adapted->forward_backward(batch, false, 1.0, chance); };
  static_cast<void>(loss());
  std::uint64_t seed = 100;
  for (const Parameters::Named& named : trained_of(*adapted->parameters)) {
    const View gradient = named.parameter.gradient;
    Matrix kept(gradient.rows, gradient.cols, DType::F64);
    adapted->ops->copy(gradient, kept.view());
    EXPECT_GT(inner_product(kept.view(), kept.view()), 0) << named.name;
    EXPECT_LT(slope_error(loss, named.parameter.value, kept.view(), ++seed), 1e-7) << named.name;
  }
}

TEST_P(MethodGradientTest, GradientsOfMicroBatchesAddUp) {
  const Case& param = GetParam();
  Adapted adapted(param, param.config, param.spec);
  const data::MicroBatch first = test_batch(param.spec, 1, 7, 21);
  const data::MicroBatch second = test_batch(param.spec, 1, 7, 22);
  Chance chance{.drops = true, .seed = 1};
  double sum = adapted->forward_backward(first, false, 1.0, chance);
  chance.first_row = 7;
  sum += adapted->forward_backward(second, true, 1.0, chance);
  const View gradients = adapted->parameters->gradients();
  Matrix added(gradients.rows, gradients.cols, DType::F64);
  adapted->ops->copy(gradients, added.view());
  data::MicroBatch both = first;
  both.samples = 2;
  both.ids.insert(both.ids.end(), second.ids.begin(), second.ids.end());
  both.labels.insert(both.labels.end(), second.labels.begin(), second.labels.end());
  chance.first_row = 0;
  adapted->ops->fill(gradients, std::nan(""));
  EXPECT_NEAR(adapted->forward_backward(both, false, 1.0, chance), sum, 1e-12 * sum);
  for (const TrainedMemory& piece : adapted->parameters->trained()) {
    EXPECT_EQ(piece.gradients.cols, piece.values.cols);
  }
  for (const Parameters::Named& named : trained_of(*adapted->parameters)) {
    EXPECT_FALSE(std::isnan(inner_product(named.parameter.gradient, named.parameter.gradient)))
        << named.name << " was not overwritten";
  }
}

TEST_P(MethodGradientTest, HoldsWhatItPlannedAndNoGradientOfWhatIsFrozen) {
  const Case& param = GetParam();
  Adapted adapted(param, param.config, param.spec);
  static_cast<void>(
      adapted->forward_backward(test_batch(param.spec, 2, 7, 3), false, 1.0, {.drops = true}));
  EXPECT_EQ(adapted->high_water(), adapted->planned_high_water());
  std::int64_t trained = 0;
  for (const Parameters::Named& named : trained_of(*adapted->parameters)) {
    trained += named.parameter.gradient.elements();
  }
  EXPECT_EQ(trained, adapted->parameters->trained_elements());
  EXPECT_LT(adapted->parameters->gradients().elements(), trained + 16 * 64);
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodGradientTest, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

TEST(LoraTest, MergedIntoTheWeightsComputesTheSame) {
  Case param;
  param.spec.qkv_bias = true;
  const Json config = config_of(
      R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3, "target_modules": "all-linear"})");
  Adapted adapted(param, config, param.spec);
  TestModel merged(param.spec, {.largest = {2, 7}}, DType::F64);
  const data::MicroBatch batch = test_batch(param.spec, 2, 7, 3);
  Matrix with(14, param.spec.vocabulary, DType::F64);
  Matrix into(14, param.spec.vocabulary, DType::F64);
  adapted->model->logits(*adapted->ops, batch, with.view());
  merged.model->logits(*merged.ops, batch, into.view());
  EXPECT_GT(relative_difference(into.view(), with.view()), 0.1) << "the adapter does nothing";
  for (const Parameters::Named& a : adapted->parameters->added()) {
    const std::size_t at = a.name.find(".lora_A.weight");
    if (at == std::string::npos) {
      continue;
    }
    constexpr std::size_t kPrefix = std::string_view("base_model.model.").size();
    const View b =
        adapted->parameters->find(a.name.substr(0, at) + ".lora_B.weight").parameter.value;
    const std::string name = a.name.substr(kPrefix, at - kPrefix) + ".weight";
    const View weight = merged.parameters->find(name).parameter.value;
    Matrix product(weight.rows, weight.cols, DType::F64);
    merged.ops->gemm(false, false, b, a.parameter.value, product.view(), false);
    merged.ops->scale(1.5, product.view(), product.view());
    merged.ops->add(product.view(), weight);
  }
  merged.model->logits(*merged.ops, batch, into.view());
  EXPECT_LT(relative_difference(into.view(), with.view()), 1e-13);
}

TEST(PromptTuningTest, BeginsAsItsSettingsSay) {
  const auto begun = [](std::string_view settings, const Beginning& beginning) {
    const std::unique_ptr<Method> method = make_method(config_of(settings), "test");
    TestModel test(test_spec(), {.largest = {1, 4}}, DType::F64, 7, method->training(test_spec()));
    method->begin(test_spec(), beginning, *test.parameters);
    std::vector<std::vector<double>> rows;
    const View prompt = test.parameters->added_matrix(0).value;
    const View table = test.parameters->embedding().value;
    for (std::int64_t row = 0; row < prompt.rows; ++row) {
      std::int64_t found = -1;
      for (std::int64_t token = 0; token < table.rows; ++token) {
        if (relative_difference(prompt.row_range(row, 1), table.row_range(token, 1)) == 0.0) {
          found = token;
        }
      }
      rows.push_back({static_cast<double>(found), Matrix::element(prompt, row * prompt.cols)});
    }
    return rows;
  };
  const auto text = begun(R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 5,
      "prompt_tuning_init": "TEXT", "prompt_tuning_init_text": "ab"})",
                          {.seed = 1, .text = {4, 9}});
  ASSERT_EQ(text.size(), 5U);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(text[row][0], row % 2 == 0 ? 4 : 9) << "repeated, and cut";
  }
  constexpr std::string_view kRandom =
      R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 40})";
  double squares = 0;
  for (const auto& row : begun(kRandom, {.seed = 1})) {
    EXPECT_EQ(row[0], -1);
    squares += row[1] * row[1];
  }
  EXPECT_NEAR(squares / 40, 1.0, 0.7);
  EXPECT_EQ(begun(kRandom, {.seed = 1}), begun(kRandom, {.seed = 1}));
  EXPECT_NE(begun(kRandom, {.seed = 1}), begun(kRandom, {.seed = 2}));
  for (const auto& row : begun(R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 6,
      "prompt_tuning_init": "SAMPLE_VOCAB"})",
                               {.seed = 1})) {
    EXPECT_GE(row[0], 0) << "a row of the table";
  }
}

TEST(LoraTest, BeginsAtTheBaseWithAOfPyTorchsWidth) {
  const std::unique_ptr<Method> method =
      make_method(config_of(R"({"peft_type": "LORA", "r": 6})"), "test");
  model::ModelSpec spec = test_spec();
  spec.width = 64;
  TestModel test(spec, {.largest = {1, 4}}, DType::F64, 7, method->training(spec));
  for (const Parameters::Named& tensor : test.parameters->added()) {
    test.ops->fill(tensor.parameter.value, 0.0);
  }
  method->begin(spec, {.seed = 3}, *test.parameters);
  double largest = 0;
  double squares = 0;
  double count = 0;
  for (const Parameters::Named& tensor : test.parameters->added()) {
    const View value = tensor.parameter.value;
    const double size = test.ops->sum_squares(value);
    if (tensor.name.ends_with("lora_B.weight")) {
      EXPECT_EQ(size, 0.0);
      continue;
    }
    squares += size;
    count += static_cast<double>(value.elements());
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      largest = std::max(largest, std::abs(Matrix::element(value, i)));
    }
  }
  constexpr double kBound = 1.0 / 8.0;  // 1 / sqrt(64)
  EXPECT_LE(largest, kBound);
  EXPECT_GT(largest, 0.99 * kBound);
  EXPECT_NEAR(squares / count, kBound * kBound / 3.0, 0.1 * kBound * kBound / 3.0);
}

}  // namespace
}  // namespace tunebench::engine
