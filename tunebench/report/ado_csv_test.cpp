// The header is the one that the reference system publishes (section 14 of its description).
#include "tunebench/report/ado_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/property.h"
#include "tunebench/report/aggregate.h"

namespace tunebench::report {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader =
    ",identifier,generatorid,experiment_id,model_name,number_gpus,model_max_length,batch_size,"
    "gpu_compute_utilization_min,gpu_compute_utilization_avg,gpu_compute_utilization_max,"
    "gpu_memory_utilization_min,gpu_memory_utilization_avg,gpu_memory_utilization_max,"
    "gpu_power_watts_min,gpu_power_watts_avg,gpu_power_watts_max,gpu_power_percent_min,"
    "gpu_power_percent_avg,gpu_power_percent_max,cpu_compute_utilization,cpu_memory_utilization,"
    "train_runtime,train_samples_per_second,train_steps_per_second,dataset_tokens_per_second,"
    "dataset_tokens_per_second_per_gpu,is_valid\n";

store::RunRecord ado_attempt(const char* key, double runtime) {
  store::RunRecord one;
  one.record.key = key;
  one.record.experiment = "finetune_full_benchmark-v1.0.0";
  for (const experiment::Property& property : experiment::properties()) {
    one.record.inputs[property.name] = property.default_value;
  }
  one.record.inputs["model_name"] = "tiny";
  one.record.inputs["number_gpus"] = 0;
  one.record.inputs["model_max_length"] = 512;
  one.record.inputs["batch_size"] = 4;
  one.record.set("tokens_per_s", 100.0);
  one.record.set("train_runtime", runtime);
  one.record.set("cpu_compute_utilization", 199.5);
  return one;
}

TEST(AdoCsv, HasThePublishedHeaderAndOneRowPerPoint) {
  const std::vector<store::RunRecord> records{ado_attempt("a", 30.5), ado_attempt("a", 31.5),
                                              ado_attempt("a", 31)};
  EXPECT_EQ(to_ado_csv(aggregate(records)),
            std::string(kHeader) +
                "0,model_name.tiny-number_gpus.0-model_max_length.512-batch_size.4,"
                "explicit_grid_sample_generator,finetune_full_benchmark-v1.0.0,tiny,0,512,4,"
                ",,,,,,,,,,,,199.5,,31,,,,,1\n");
  EXPECT_EQ(to_ado_csv({}), kHeader);
}

TEST(AdoCsv, OtherInputsFollowTheRequiredOnesAndFailuresAreInvalid) {
  store::RunRecord lower = ado_attempt("b", 1);
  lower.record.inputs["torch_dtype"] = "float32";
  lower.record.status = record::Outcome::OomHost;
  lower.record.measured.clear();
  const std::string text = to_ado_csv(aggregate(std::vector{ado_attempt("a", 1), lower}));
  EXPECT_THAT(text, HasSubstr("batch_size,torch_dtype,gpu_compute_utilization_min"));
  EXPECT_THAT(text, HasSubstr("-batch_size.4-torch_dtype.float32,"));
  EXPECT_THAT(text, HasSubstr(",4,float32,,,,,,,,,,,,,,,,,,,,0\n"));
}

TEST(AdoCsv, StabilityAddsItsShares) {
  store::RunRecord run = ado_attempt("a", 1);
  run.record.experiment = "finetune_full_stability-v1.0.0";
  const std::string text = to_ado_csv(aggregate(std::vector{run, run, run, run, run}));
  EXPECT_THAT(text, HasSubstr("per_gpu,f_gpu_oom,f_host_oom,f_other_error,f_no_error,is_valid\n"));
  EXPECT_THAT(text, HasSubstr(",0,0,0,1,1\n"));
}

TEST(AdoCsv, QuotesWhatACellCannotHold) {
  store::RunRecord odd = ado_attempt("a", 1);
  odd.record.inputs["model_name"] = "a,\"b\"";
  EXPECT_THAT(to_ado_csv(aggregate(std::vector{odd})), HasSubstr(",\"a,\"\"b\"\"\",0,512,4,"));
}

}  // namespace
}  // namespace tunebench::report
