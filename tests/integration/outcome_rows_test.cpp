// Each way in which a trainer can fail, provoked through the whole program: one row with its kind,
// its reason, where it was, and its log.
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;

struct Failure {
  std::string status;
  std::string failure;  ///< of the simulated trainer's model
  std::string reason;   ///< part of it
  std::size_t attempts;
};

void PrintTo(const Failure& failure, std::ostream* out) {
  *out << failure.status;
}

class OutcomeRow : public testing::TestWithParam<Failure> {};

TEST_P(OutcomeRow, IsStoredWithItsReason) {
  Session session;
  const std::string model =
      session.write("model.json", R"({"step":{"base_s":0.01},"failures":[{"step":3,)" +
                                      GetParam().failure + "}]}");
  const Said said =
      session.run({"run", "-m", "tiny", "-l", "32", "-b", "1", "--trainer", "simulated",
                   "--simulation", model, "--max-steps", "5", "--timeout", "3"});
  EXPECT_EQ(said.exit.code, 3) << said.err;
  EXPECT_THAT(said.out, HasSubstr(GetParam().status + ": ")) << "the table names it, too";
  const Json rows =
      Json::parse(session.run({"export", "--format", "json", "--simulated"}).out, "export");
  ASSERT_EQ(rows.as_array().size(), GetParam().attempts);
  for (const Json& row : rows.as_array()) {
    EXPECT_EQ(row.at("status").as_string(), GetParam().status);
    EXPECT_FALSE(row.at("is_valid").as_bool());
    EXPECT_THAT(row.at("reason").as_string(), HasSubstr(GetParam().reason));
    EXPECT_EQ(row.at("failed_phase").as_string(), "train");
    EXPECT_EQ(row.at("failed_step").as_int(), 3);
    EXPECT_EQ(row.at("steps_total").as_int(), 2) << "what was made before counts";
    EXPECT_TRUE(row.at("tokens_per_s").is_null());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Run, OutcomeRow,
    testing::Values(
        Failure{"oom_gpu", R"("error":"oom_gpu","message":"no room")", "no room", 1},
        Failure{"oom_host", R"("error":"oom_host","message":"no room")", "no room", 1},
        Failure{"invalid_config", R"("error":"invalid_config","message":"two dtypes")",
                "two dtypes", 1},
        Failure{"timeout", R"("hang":true)", "took longer than 3.0 s", 1},
        Failure{"nccl", R"("log":"ncclRemoteError: A call failed possibly due to a network error")",
                "ncclRemoteError", 3},
        Failure{"cuda",
                R"("log":"RuntimeError: CUDA error: an illegal memory access was encountered")",
                "illegal memory access", 3},
        Failure{"io", R"("log":"OSError: [Errno 28] No space left on device")", "No space left", 3},
        Failure{"killed", R"("signal":9)", "signal 9", 3},
        Failure{"crashed", R"("signal":11)", "segmentation fault", 3}),
    [](const auto& one) { return one.param.status; });

}  // namespace
}  // namespace tunebench::integration
