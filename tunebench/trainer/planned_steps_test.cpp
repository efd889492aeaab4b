#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

experiment::Point point(std::int64_t batch, std::int64_t accumulation, double epochs,
                        std::int64_t max_steps = -1, std::int64_t gpus = 0) {
  return {.experiment = "finetune_full_benchmark-v1.0.0",
          .inputs = {{"batch_size", batch},
                     {"gradient_accumulation_steps", accumulation},
                     {"num_train_epochs", epochs},
                     {"max_steps", max_steps},
                     {"number_gpus", gpus}}};
}

TEST(PlannedStepsTest, RoundsUpMicroBatchesAndStepsOfAnEpoch) {
  EXPECT_EQ(planned_steps(point(2, 2, 3), 9), 9);
  EXPECT_EQ(planned_steps(point(20, 2, 10), 91), 30);
  EXPECT_EQ(planned_steps(point(1, 4, 1), 3), 1);
  EXPECT_EQ(planned_steps(point(2, 4, 1), 4096), 512);
}

TEST(PlannedStepsTest, RoundsUpAPartOfAnEpoch) {
  EXPECT_EQ(planned_steps(point(1, 1, 0.25), 10), 3);
}

TEST(PlannedStepsTest, LetsMaxStepsWinOverEpochs) {
  EXPECT_EQ(planned_steps(point(1, 1, 100, 7), 3), 7);
}

TEST(PlannedStepsTest, RefusesAnEmptyDataset) {
  try {
    static_cast<void>(planned_steps(point(1, 1, 1), 0));
    FAIL() << "an empty dataset was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_STREQ(error.what(), "the dataset is empty");
  }
}

TEST(DeviceBatchSizeTest, DividesTheBatchOverTheDevices) {
  EXPECT_EQ(device_batch_size(point(8, 1, 1, -1, 0)), 8);
  EXPECT_EQ(device_batch_size(point(8, 1, 1, -1, 4)), 2);
}

TEST(DeviceBatchSizeTest, RefusesABatchThatCannotBeDivided) {
  try {
    static_cast<void>(device_batch_size(point(6, 1, 1, -1, 4)));
    FAIL() << "6 over 4 devices was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "batch_size is 6 but number_gpus is 4");
  }
  EXPECT_THROW(static_cast<void>(device_batch_size(point(0, 1, 1))), Error);
}

}  // namespace
}  // namespace tunebench::trainer
