// Outside trainers as they are, on the CPU, over a small model folder: environments are made by the
// first test that needs one, below $TUNEBENCH_ENVS or the user's data folder, and stay.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;

constexpr std::chrono::minutes kLongest{110};

class RealTrainers : public testing::Test {
 protected:
  RealTrainers() {
    make_model_folder(session_.folder() / "model");
    std::string lines;
    for (int row = 0; row < 64; ++row) {
      const auto words = static_cast<std::size_t>(row % 2 == 0 ? 60 : 3 + row % 29);
      std::string answer;
      for (std::size_t word = 0; word < words; ++word) {
        answer += " word";
      }
      lines +=
          Json::object({{"output", "### Input:\nask\n\n### Response:" + answer}}).dump() + "\n";
    }
    data_ = session_.write("d.jsonl", lines);
  }

  /// The records of one run over all trainers, in their order.
  Json::Array records(const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",      "--model",       "model",   "--dataset", data_,
                                   "--length", "256",           "--batch", "2",         "--repeats",
                                   "1",        "--torch-dtype", "float32"};
    words.insert(words.end(), more.begin(), more.end());
    said_ = session_.run(words, kLongest);
    return session_.exported().as_array();
  }

  Session session_;
  std::string data_;
  Said said_;
};

TEST_F(RealTrainers, HfTrainsWhatNativeTrains) {
  const Json::Array rows = records({"--trainer", "native,hf", "--num-train-epochs", "1"});
  ASSERT_EQ(rows.size(), 2U) << said_.err;
  for (const char* field : {"steps_total", "samples_total", "tokens_total", "tokens_nonpad_total",
                            "tokens_trained_total"}) {
    EXPECT_EQ(rows[1].at(field).as_int(), rows[0].at(field).as_int()) << field;
  }
  for (const char* field :
       {"loss_first", "loss_last", "grad_norm_first", "grad_norm_last", "learning_rate_last"}) {
    const double native = rows[0].at(field).as_double();
    EXPECT_NEAR(rows[1].at(field).as_double(), native, 1e-5 * std::abs(native)) << field;
  }
}

TEST_F(RealTrainers, HfDoesLora) {
  const Json::Array rows =
      records({"--trainer", "hf", "--experiment", "finetune_lora_benchmark", "--max-steps", "3"});
  EXPECT_EQ(rows.at(0).at("status").as_string(), "ok") << said_.err;
  EXPECT_EQ(rows.at(0).at("steps_total").as_int(), 3);
}

TEST_F(RealTrainers, HfIsStoppedWhenEnoughIsMeasured) {
  const Json::Array rows = records({"--trainer", "hf", "--stop-after-seconds", "3"});
  EXPECT_EQ(rows.at(0).at("status").as_string(), "ok") << said_.err;
}

TEST_F(RealTrainers, FmsHfTuningTrainsTheSameTokens) {
  const std::vector<std::string> words{"--fms-hf-tuning-version",
                                       "3.2.2",
                                       "--response-template",
                                       "### Response:",
                                       "--num-train-epochs",
                                       "1",
                                       "--trainer"};
  std::vector<std::string> fms = words;
  fms.emplace_back("fms-hf-tuning");
  const Json::Array first = records(fms);
  ASSERT_EQ(first.at(0).at("status").as_string(), "ok") << first.at(0).dump(2);
  const Json::Array rows =
      records({"--response-template", "### Response:", "--num-train-epochs", "1"});
  const Json& native = rows.back();
  ASSERT_EQ(native.at("trainer").as_string(), "native");
  for (const char* field :
       {"steps_total", "samples_total", "tokens_nonpad_total", "tokens_trained_total"}) {
    EXPECT_EQ(first.at(0).at(field).as_int(), native.at(field).as_int()) << field;
  }
}

TEST_F(RealTrainers, WhatHfCannotReadIsNamed) {
  std::filesystem::remove(session_.folder() / "model" / "model.safetensors");
  const Json::Array rows = records({"--trainer", "hf", "--max-steps", "3"});
  EXPECT_TRUE(rows.empty()) << "the plan finds it before anything starts";
  EXPECT_THAT(said_.err, HasSubstr("safetensors"));
}

}  // namespace
}  // namespace tunebench::integration
