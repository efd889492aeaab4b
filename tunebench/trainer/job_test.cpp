#include "tunebench/trainer/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::trainer {
namespace {

TEST(JobTest, ComesBackFromItsText) {
  Job job;
  job.point.experiment = "finetune_full_benchmark-v1.0.0";
  job.point.inputs = {{"model_name", "a \"model\"\n"},
                      {"batch_size", 4},
                      {"gpu_model", Json()},
                      {"learning_rate", 1e-05},
                      {"flash_attn", true}};
  job.planned_steps = 20;
  job.memory_bytes = 1'000'000'000'000;
  job.repeat = 3;
  job.attempt = 2;
  job.force = true;
  const std::string text = job_text(job);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Job back = parse_job(text);
  EXPECT_EQ(back.point.experiment, job.point.experiment);
  EXPECT_EQ(back.point.inputs, job.point.inputs);
  EXPECT_EQ(back.planned_steps, 20);
  EXPECT_EQ(back.memory_bytes, 1'000'000'000'000);
  EXPECT_EQ(back.repeat, 3);
  EXPECT_EQ(back.attempt, 2);
  EXPECT_TRUE(back.force);
}

TEST(JobTest, NamesWhatIsWrongWithATextThatIsNoJob) {
  const auto message = [](std::string_view text) {
    try {
      static_cast<void>(parse_job(text));
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("taken");
  };
  EXPECT_THAT(message("tiny"), testing::StartsWith("reading the job: job:1:"));
  EXPECT_THAT(message("{}"), testing::HasSubstr("experiment"));
  EXPECT_THAT(message(R"({"experiment":"e","inputs":{},"planned_steps":-1,"memory_bytes":0})"),
              testing::HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace tunebench::trainer
