#include "tunebench/experiment/experiment.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Experiment& full() {
  return *find_experiment("finetune_full_benchmark");
}

std::vector<GivenValues> with_required(std::vector<GivenValues> more) {
  std::vector<GivenValues> given{{"model_name", {"tiny"}}};
  for (GivenValues& one : more) {
    given.push_back(std::move(one));
  }
  return given;
}

std::vector<std::string> lines(const Diagnostics& problems) {
  std::vector<std::string> texts;
  for (const Diagnostic& problem : problems) {
    texts.push_back(problem.line());
  }
  return texts;
}

std::vector<std::string> problems_of(const Experiment& experiment,
                                     const std::vector<GivenValues>& given) {
  Diagnostics problems;
  EXPECT_THAT(expand(experiment, given, problems), IsEmpty());
  return lines(problems);
}

Point one_point(const std::vector<GivenValues>& given) {
  Diagnostics problems;
  std::vector<Point> points = expand(full(), given, problems);
  EXPECT_THAT(lines(problems), IsEmpty());
  EXPECT_EQ(points.size(), 1U);
  return points.at(0);
}

TEST(ExpandTest, LastGivenPropertyVariesFastest) {
  Diagnostics problems;
  const std::vector<Point> points = expand(
      full(), with_required({{"model_max_length", {512, 1024}}, {"batch_size", {1, 2}}}), problems);
  ASSERT_THAT(lines(problems), IsEmpty());
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Point& point : points) {
    pairs.emplace_back(point.integer("model_max_length"), point.integer("batch_size"));
  }
  EXPECT_THAT(pairs, ElementsAre(std::pair(512, 1), std::pair(512, 2), std::pair(1024, 1),
                                 std::pair(1024, 2)));
}

TEST(ExpandTest, FillsInEveryDefault) {
  const Point point = one_point(with_required({{"model_max_length", {512}}, {"batch_size", {1}}}));
  EXPECT_EQ(point.experiment, "finetune_full_benchmark-v1.0.0");
  EXPECT_EQ(point.inputs.size(), properties().size());
  EXPECT_EQ(point.text("model_name"), "tiny");
  EXPECT_EQ(point.integer("gradient_accumulation_steps"), 4);
  EXPECT_EQ(point.real("learning_rate"), 1e-5);
  EXPECT_TRUE(point.boolean("gradient_checkpointing"));
  EXPECT_TRUE(point.input("response_template").is_null());
}

TEST(ExpandTest, AsksForWhatIsMissingByName) {
  EXPECT_THAT(problems_of(full(), {}),
              ElementsAre("model_name is missing - give it with --model",
                          "model_max_length is missing - give it with --length",
                          "batch_size is missing - give it with --batch"));
}

TEST(ExpandTest, ReportsAllMistakesAtOnce) {
  EXPECT_THAT(problems_of(full(), with_required({{"bacth_size", {4}},
                                                 {"model_max_length", {0, 512}},
                                                 {"torch_dtype", {"bf16"}},
                                                 {"seed", {}}})),
              ElementsAre("unknown input 'bacth_size' - did you mean 'batch_size'?",
                          "model_max_length is 0 but must be 1 … 131072 - nearest: 1",
                          "torch_dtype is 'bf16' but must be one of bfloat16, float16, float32",
                          "seed has no value", "batch_size is missing - give it with --batch"));
}

TEST(ExpandTest, RefusesAPropertyGivenTwice) {
  EXPECT_THAT(
      problems_of(
          full(),
          with_required({{"model_max_length", {512}}, {"batch_size", {1}}, {"batch-size", {2}}})),
      ElementsAre("batch_size is given twice - give all its values in one list"));
}

TEST(ExpandTest, RefusesExperimentsThatCannotRunAndNamesWhatCan) {
  EXPECT_THAT(
      problems_of(*find_experiment("finetune_gptq-lora_benchmark"),
                  with_required({{"model_max_length", {512}}, {"batch_size", {1}}})),
      ElementsAre("finetune_gptq-lora_benchmark-v1.0.0 cannot be run by this version - it runs "
                  "finetune_full_benchmark-v1.0.0, finetune_full_stability-v1.0.0, "
                  "finetune_lora_benchmark-v1.0.0, finetune_pt_benchmark-v1.0.0"));
}

TEST(ExpandTest, RefusesToSetWhatTheExperimentFixes) {
  const Experiment& stability = *find_experiment("finetune_full_stability");
  EXPECT_THAT(
      problems_of(
          stability,
          with_required({{"model_max_length", {512}}, {"batch_size", {1}}, {"max_steps", {10}}})),
      ElementsAre("max_steps cannot be set: finetune_full_stability-v1.0.0 fixes it at 5"));
  Diagnostics problems;
  const std::vector<Point> points = expand(
      stability, with_required({{"model_max_length", {512}}, {"batch_size", {1}}}), problems);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].integer("max_steps"), 5);
}

TEST(ExpandTest, UsesTheDefaultsOfTheExperiment) {
  Experiment quantised = *find_experiment("finetune_gptq-lora_benchmark");
  quantised.runnable = true;
  Diagnostics problems;
  const std::vector<Point> points = expand(
      quantised, with_required({{"model_max_length", {512}}, {"batch_size", {1}}}), problems);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].text("torch_dtype"), "float16");
}

TEST(ExpandTest, RefusesAbsurdlyManyPointsWithTheirNumber) {
  std::vector<Json> many;
  for (int i = 1; i <= 1000; ++i) {
    many.emplace_back(i);
  }
  EXPECT_THAT(
      problems_of(full(), with_required({{"model_max_length", many}, {"batch_size", many}})),
      ElementsAre("these values make 1,000,000 points, more than 100,000 - give fewer "
                  "values"));
}

TEST(PointTest, AskingForAnInputItDoesNotHaveIsOurBug) {
  EXPECT_THROW((void)Point{}.input("batch_size"), Error);
}

class ReuseKeyTest : public testing::Test {
 protected:
  [[nodiscard]] std::string key(const std::vector<GivenValues>& given) const {
    return reuse_key(one_point(with_required(given)), parts_);
  }
  const KeyParts parts_{"1", "native", "0.1.0", "cpu:x:2c", "model", "data"};
};

TEST_F(ReuseKeyTest, IsAHashInHexDigits) {
  const std::string text = key({{"model_max_length", {512}}, {"batch_size", {4}}});
  EXPECT_EQ(text.size(), 64U);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(ReuseKeyTest, DoesNotDependOnOrderOrSpelling) {
  EXPECT_EQ(key({{"batch_size", {4}}, {"model_max_length", {512}}}),
            key({{"model_max_length", {512.0}}, {"batch_size", {4}}}));
}

TEST_F(ReuseKeyTest, DefaultLeftOutEqualsDefaultGiven) {
  const std::string without = key({{"model_max_length", {512}}, {"batch_size", {4}}});
  EXPECT_EQ(without, key({{"model_max_length", {512}},
                          {"batch_size", {4}},
                          {"learning_rate", {0.00001}},
                          {"gradient_accumulation_steps", {4}}}));
  Point bare{"finetune_full_benchmark-v1.0.0",
             {{"model_name", "tiny"}, {"model_max_length", 512}, {"batch_size", 4}}};
  EXPECT_EQ(without, reuse_key(bare, parts_));
}

TEST_F(ReuseKeyTest, APropertyThatCameLaterCountsOnlyWhenItIsNotAtItsDefault) {
  const std::vector<GivenValues> base = {{"model_max_length", {512}}, {"batch_size", {4}}};
  const auto with = [&](const char* property, const Json& value) {
    std::vector<GivenValues> given = base;
    given.push_back({property, {value}});
    return key(given);
  };
  EXPECT_EQ(with("lora_dropout", 0.05), key(base));
  EXPECT_EQ(with("target_modules", Json()), key(base));
  EXPECT_NE(with("lora_dropout", 0.1), key(base));
  EXPECT_NE(with("target_modules", "all-linear"), key(base));
}

TEST_F(ReuseKeyTest, AnyInputChangesIt) {
  const std::vector<GivenValues> base{{"model_max_length", {512}}, {"batch_size", {4}}};
  std::set<std::string> keys{key(base)};
  for (const GivenValues& one : std::vector<GivenValues>{{"seed", {2}},
                                                         {"torch_dtype", {"float32"}},
                                                         {"learning_rate", {1.0000000000000002e-5}},
                                                         {"gradient_checkpointing", {false}},
                                                         {"response_template", {"null"}}}) {
    std::vector<GivenValues> given = base;
    given.push_back(one);
    EXPECT_TRUE(keys.insert(key(given)).second) << one.property;
  }
}

TEST_F(ReuseKeyTest, AnyPartChangesIt) {
  const Point point = one_point(with_required({{"model_max_length", {512}}, {"batch_size", {4}}}));
  std::set<std::string> keys{reuse_key(point, parts_)};
  for (std::string KeyParts::*part :
       {&KeyParts::metric_schema, &KeyParts::trainer, &KeyParts::trainer_version,
        &KeyParts::hardware_class, &KeyParts::model_fingerprint, &KeyParts::dataset_fingerprint}) {
    KeyParts changed = parts_;
    changed.*part += "x";
    EXPECT_TRUE(keys.insert(reuse_key(point, changed)).second);
  }
  Point other = point;
  other.experiment = "finetune_full_stability-v1.0.0";
  EXPECT_TRUE(keys.insert(reuse_key(other, parts_)).second);
}

TEST_F(ReuseKeyTest, DoesNotChangeFromVersionToVersion) {
  // A changed value here means that every stored result is measured again. The value is the SHA-256
  // of json.dumps(key, sort_keys=True, separators=(",", ":")) of CPython 3.11.
  const Point known = one_point(with_required({{"model_max_length", {512}}, {"batch_size", {4}}}));
  EXPECT_EQ(reuse_key(known, parts_),
            "66ab2978639a0c75f56e36f26fa59bbd82da99d0952ebd0cc73ba4afb4d6ddbc");
}

}  // namespace
}  // namespace tunebench::experiment
