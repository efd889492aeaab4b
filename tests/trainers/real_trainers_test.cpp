// Outside trainers as they are, on the CPU, over a small model folder: environments are made by the
// first test that needs one, below $TUNEBENCH_ENVS or the user's data folder, and stay.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

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

  /// All records after one more run with these words.
  Json::Array records(const std::vector<std::string>& more, const char* length = "256") {
    std::vector<std::string> words{"run",      "--model",       "model",   "--dataset", data_,
                                   "--length", length,          "--batch", "2",         "--repeats",
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

/// Every row is longer than 40 tokens: one that is not cut gets an end token more from it.
TEST_F(RealTrainers, FmsHfTuningTrainsTheSameTokens) {
  const std::vector<std::string> same{"--response-template", "### Response:", "--num-train-epochs",
                                      "1"};
  std::vector<std::string> fms = same;
  fms.insert(fms.end(), {"--trainer", "fms-hf-tuning", "--fms-hf-tuning-version", "3.2.2"});
  records(fms, "40");
  const Json::Array rows = records(same, "40");
  ASSERT_EQ(rows.size(), 2U) << Json(rows).dump(2);
  EXPECT_EQ(rows[0].at("trainer").as_string(), "fms-hf-tuning");
  EXPECT_EQ(rows[0].at("status").as_string(), "ok") << rows[0].dump(2);
  for (const char* field : {"steps_total", "samples_total", "tokens_total", "tokens_nonpad_total",
                            "tokens_trained_total"}) {
    EXPECT_EQ(rows[0].at(field).as_int(), rows[1].at(field).as_int()) << field;
  }
}

TEST_F(RealTrainers, FmsHfTuningDoesLoraAndCannotDoPromptTuning) {
  const std::vector<std::string> fms{"--trainer",   "fms-hf-tuning", "--fms-hf-tuning-version",
                                     "3.2.2",       "--max-steps",   "2",
                                     "--experiment"};
  std::vector<std::string> lora = fms;
  lora.emplace_back("finetune_lora_benchmark");
  EXPECT_EQ(records(lora).at(0).at("status").as_string(), "ok") << said_.err;
  std::vector<std::string> prompt = fms;
  prompt.emplace_back("finetune_pt_benchmark");
  const Json last = records(prompt).back();
  EXPECT_EQ(last.at("status").as_string(), "crashed");
  EXPECT_THAT(last.at("reason").as_string(), HasSubstr("must match the size of tensor b"));
}

TEST_F(RealTrainers, ATemplateThatIsNotInTheDataTrainsNothing) {
  const Json::Array rows =
      records({"--trainer", "fms-hf-tuning", "--fms-hf-tuning-version", "3.2.2", "--max-steps", "2",
               "--response-template", "### Nowhere:"});
  // The plan may find it before anything starts; exit code 0 of the trainer does not hide it.
  if (!rows.empty()) {
    EXPECT_EQ(rows[0].at("status").as_string(), "invalid_config");
    EXPECT_THAT(rows[0].at("reason").as_string(), HasSubstr("no token was trained"));
  }
}

TEST_F(RealTrainers, AModelWithoutWeightsIsFoundBeforeAnythingStarts) {
  std::filesystem::remove(session_.folder() / "model" / "model.safetensors");
  const Said said = session_.run({"run", "--model", "model", "--dataset", data_, "--length", "256",
                                  "--batch", "2", "--max-steps", "3", "--trainer", "hf"});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("safetensors"));
}

}  // namespace
}  // namespace tunebench::integration
