#include "tunebench/model/reference_models.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::model {
namespace {

/// What the publisher tells of a model.
struct Published {
  std::string name;
  double parameters = 0;
  double rounding = 0;              ///< of a figure that is told in billions; 0: exact
  bool head_counted_twice = false;  ///< the reference system counts the tensors of each module
};

std::vector<Published> published() {
  return {
      // model_hashes.json of the reference system
      {"granite-7b-base", 6738415616.0},
      {"llama-7b", 6738415616.0},
      {"llama-13b", 13015864320.0},
      {"granite-13b-v2", 13360702464.0, 0, true},
      {"granite-20b-v2", 20368983040.0, 0, true},
      {"granite-34b-code-base", 34017593344.0, 0, true},
      {"granite-8b-code-base", 8256237568.0, 0, true},
      {"mistral-7b-v0.1", 7241732096.0},
      {"llama3-8b", 8030261248.0},
      {"llama3.1-8b", 8030261248.0},
      {"llama3-70b", 70553706496.0},
      {"llama3.1-70b", 70553706496.0},
      {"mixtral-8x7b-instruct-v0.1", 46702792704.0},
      {"llama2-70b", 68976648192.0},
      {"llama3.1-405b", 410081247232.0},
      // what transformers makes of the published config.json; 1.3 and 3.3 billion on the cards
      {"granite-3.0-1b-a400m-base", 1334625280.0},
      {"granite-3.1-3b-a800m-instruct", 3298793472.0},
      // model cards
      {"smollm2-135m", 134515008.0},
      {"llama3.2-1b", 1235814400.0},
      {"llama3.2-3b", 3212749824.0},
      {"mistral-123b-v2", 122610069504.0},
      {"granite-3-8b", 8.17e9, 0.005e9},
      {"granite-3.1-2b", 2.53e9, 0.005e9},
      {"granite-3.1-8b-instruct", 8.17e9, 0.005e9},
      {"granite-3.3-8b", 8.17e9, 0.005e9},
      {"granite-3b-code-base-128k", 3.48e9, 0.005e9},
      {"granite-8b-code-base-128k", 8.05e9, 0.005e9},
      {"granite-8b-code-instruct", 8.05e9, 0.005e9},
      {"granite-4.0-1b", 1.63e9, 0.005e9},
      {"granite-4.0-350m", 0.352e9, 0.0005e9},
      {"granite-4.0-micro", 3.40e9, 0.005e9},
  };
}

TEST(ReferenceModels, HaveThePublishedNumbersOfParameters) {
  for (const Published& model : published()) {
    const ModelSpec spec = resolve_model(model.name).spec;
    std::int64_t parameters = parameter_count(spec);
    if (model.head_counted_twice) {
      ASSERT_TRUE(spec.tied_head) << model.name;
      parameters += spec.vocabulary * spec.width;
    }
    EXPECT_LE(std::abs(static_cast<double>(parameters) - model.parameters), model.rounding)
        << model.name << " has " << parameters;
  }
}

TEST(ReferenceModels, EachPresetHasAPublishedFigure) {
  std::set<std::string> told;
  for (const Published& model : published()) {
    told.insert(model.name);
  }
  for (const Preset& preset : reference_models()) {
    EXPECT_TRUE(told.contains(preset.name)) << preset.name;
    EXPECT_THAT(preset.description, ::testing::StartsWith("the shape of "));
  }
}

TEST(ReferenceModels, EachKnownNameHasAShapeOrAReason) {
  for (const KnownModel& known : known_models()) {
    const bool shape = std::any_of(presets().begin(), presets().end(),
                                   [&](const Preset& preset) { return preset.name == known.name; });
    EXPECT_EQ(shape, known.reason.empty()) << known.name;
  }
}

TEST(ReferenceModels, CanBeWrittenAndReadAsConfigJson) {
  for (const Preset& preset : presets()) {
    const Json written = model_config_json(preset.spec);
    const ModelSpec again = parse_model_config(written, preset.name);
    EXPECT_EQ(model_config_json(again), written) << preset.name;
    EXPECT_EQ(parameter_count(again), parameter_count(preset.spec)) << preset.name;
    EXPECT_EQ(again.max_positions, preset.spec.max_positions) << preset.name;
    EXPECT_EQ(again.window, preset.spec.window) << preset.name;
  }
}

}  // namespace
}  // namespace tunebench::model
