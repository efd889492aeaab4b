#include <set>

#include <gtest/gtest.h>

#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

TEST(FieldsTest, NamesAreUniqueAndDescribed) {
  std::set<std::string> names;
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.meaning.empty()) << field.name;
    EXPECT_NE(field.meaning.back(), '.') << field.name;
    EXPECT_EQ(find_field(field.name), &field);
  }
}

TEST(FieldsTest, NoFieldHasTheNameOfAnInput) {
  for (const Field& field : fields()) {
    EXPECT_EQ(experiment::find_property(field.name), nullptr) << field.name;
  }
}

TEST(FieldsTest, UnitsStandInTheNames) {
  const std::vector<std::pair<std::string, std::string>> suffixes{
      {"_s", "s"}, {"_bytes", "bytes"}, {"_per_s", "tokens/s"}};
  for (const Field& field : fields()) {
    for (const auto& [suffix, unit] : suffixes) {
      const bool is_rate = field.name.ends_with("_per_s");
      if (field.name.ends_with(suffix) && (suffix != "_s" || !is_rate)) {
        EXPECT_EQ(field.unit, unit) << field.name;
      }
    }
  }
}

TEST(FieldsTest, HoldsWhatExportsPromise) {
  for (const char* name :
       {"tokens_per_s", "timed_s", "steps", "tokens", "tokens_nonpad", "tokens_trained",
        "loss_first", "loss_last", "grad_norm_first", "host_peak_bytes", "setup_s"}) {
    EXPECT_NE(find_field(name), nullptr) << name;
  }
}

TEST(FieldsTest, HoldsTheRatesOfTheReference) {
  for (const char* name : {"train_runtime", "train_samples_per_second", "train_steps_per_second",
                           "train_tokens_per_second", "train_tokens_per_gpu_per_second",
                           "dataset_tokens_per_second", "dataset_tokens_per_second_per_gpu"}) {
    EXPECT_NE(find_field(name), nullptr) << name;
  }
}

TEST(FieldsTest, HoldsEveryMeasuredPropertyOfTheBenchmarks) {
  const experiment::Experiment* found =
      experiment::find_experiment("finetune_full_benchmark-v1.0.0");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->measured.size(), 23U);
  for (const std::string& name : found->measured) {
    EXPECT_TRUE(name == "is_valid" || find_field(name) != nullptr) << name;
  }
}

TEST(FieldsTest, UnknownNamesHaveNoField) {
  EXPECT_EQ(find_field("tokens_per_sec"), nullptr);
}

}  // namespace
}  // namespace tunebench::record
