#include "tunebench/trainer/trainer_set.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::trainer {
namespace {

class NamedTrainer final : public Trainer {
 public:
  explicit NamedTrainer(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string version() const override { return name_ + "-1"; }
  std::unique_ptr<Running> start(const Job& /*job*/) override {
    throw Error(ErrorCode::Unsupported, name_);
  }
  [[nodiscard]] Expected expected(const experiment::Point& /*point*/) const override {
    return {.ranks = static_cast<std::int64_t>(name_.size()), .device = name_};
  }

 private:
  std::string name_;
};

experiment::Point point_of(const char* trainer) {
  experiment::Point point;
  point.inputs["trainer"] = trainer;
  return point;
}

TrainerSet two() {
  std::vector<std::unique_ptr<Trainer>> trainers;
  trainers.push_back(std::make_unique<NamedTrainer>("native"));
  trainers.push_back(std::make_unique<NamedTrainer>("hf"));
  return TrainerSet(std::move(trainers));
}

TEST(TrainerSet, GivesEachPointItsTrainer) {
  TrainerSet set = two();
  EXPECT_EQ(set.of(point_of("hf")).version(), "hf-1");
  EXPECT_EQ(set.of(point_of("native")).version(), "native-1");
  EXPECT_EQ(set.expected(point_of("hf")).device, "hf");
  try {
    static_cast<void>(set.start({.point = point_of("hf")}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "hf");
  }
  EXPECT_EQ(set.name(), "native, hf");
}

TEST(TrainerSet, APointWithoutATrainerIsMeasuredByTheFirst) {
  TrainerSet set = two();
  EXPECT_EQ(set.of(experiment::Point{}).name(), "native");
  EXPECT_THROW(TrainerSet({}), Error);
}

}  // namespace
}  // namespace tunebench::trainer
