// What the program keeps and shows of the machine, of logs and of secrets.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Sets a variable of this process, and with it of the programs that it starts.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Telemetry, ARunOnACpuHasCpuFiguresAndIsSilentAboutGpus) {
  Session session;
  const Said said = session.run({"run", "-m", "tiny", "-l", "32", "-b", "2"});
  ASSERT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.err, Not(HasSubstr("NVIDIA")));
  EXPECT_THAT(said.err, Not(HasSubstr("not measured")));
  const Json rows = session.exported();
  const Json& row = rows.as_array().at(0);
  EXPECT_GE(row.at("telemetry_samples").as_int(), 2);
  EXPECT_GT(row.at("cpu_compute_utilization").as_double(), 0);
  EXPECT_GT(row.at("cpu_memory_utilization").as_double(), 0);
  EXPECT_GT(row.at("resident_mean_bytes").as_int(), 0);
  EXPECT_LE(row.at("resident_mean_bytes").as_int(), row.at("host_peak_bytes").as_int());
  EXPECT_TRUE(row.at("gpu_compute_utilization_avg").is_null());
  EXPECT_TRUE(row.at("gpu_memory_utilization_peak").is_null());
}

TEST(Telemetry, NoPlantedSecretIsStoredOrPrinted) {
  Session session;
  const Variable token("HF_TOKEN", "planted-in-environment");
  const Variable interface("NCCL_TEST_URL", "https://user:planted-in-list@host/");
  const Said good = session.run({"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "4",
                                 "--store", "s?token=planted-in-words.db"});
  EXPECT_EQ(good.exit.code, 0) << good.err;
  EXPECT_THAT(good.err, Not(HasSubstr("planted")));
  const Said runs = session.run({"runs", "--json", "--store", "s?token=planted-in-words.db"});
  EXPECT_THAT(runs.out, HasSubstr("--store 's?token=***'"));
  EXPECT_THAT(runs.out, Not(HasSubstr("planted")));
  EXPECT_THAT(session.run({"env"}).out, Not(HasSubstr("planted")));
  EXPECT_THAT(session.run({"env", "--json"}).out, HasSubstr("\"https://***@host/\""));
  const std::string store = read_file(session.folder() / "s?token=planted-in-words.db");
  EXPECT_THAT(store, Not(HasSubstr("planted")));
}

TEST(Environment, IsTheSameTwiceAndNamesWhatChanged) {
  Session session;
  ASSERT_EQ(session.run({"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "4"}).exit.code,
            0);
  const Said same = session.run({"env", "diff", "@last", "now"});
  EXPECT_EQ(same.exit.code, 0) << same.out << same.err;
  EXPECT_EQ(same.out, "no difference\n");
  const std::string file = session.write("old.json", session.run({"env", "--json"}).out);
  const Variable threads("OMP_NUM_THREADS", "7");
  const Said differs = session.run({"env", "diff", file, "now"});
  EXPECT_EQ(differs.exit.code, 2);
  EXPECT_EQ(differs.out, "variables.OMP_NUM_THREADS: - -> 7\n");
}

TEST(Environment, NamesWhatIsNoEnvironment) {
  Session session;
  const std::string file = session.write("bad.json", "[1]");
  EXPECT_EQ(session.run({"env", "diff", file, "now"}).exit.code, 1);
  EXPECT_EQ(session.run({"env", "diff", "now"}).exit.code, 1);
  EXPECT_EQ(session.run({"env", "diff", "no-such-run", "now"}).exit.code, 1);
}

TEST(Logs, ShowsThoseOfFailedMeasurementsAndOfOne) {
  Session session;
  // A second of timeout for a model that takes longer to load one step.
  const Said run =
      session.run({"run", "-m", "smollm2-135m", "-l", "512", "-b", "1", "--timeout", "0.2"});
  EXPECT_EQ(run.exit.code, 3) << run.err;
  const Said failed = session.run({"logs"});
  EXPECT_EQ(failed.exit.code, 0) << failed.err;
  EXPECT_THAT(failed.out, StartsWith("== "));
  EXPECT_THAT(failed.out, HasSubstr("/1  timeout: took longer than"));
  const Said one = session.run({"logs", "@last/1", "--json"});
  EXPECT_EQ(Json::parse(one.out, "logs").as_array().size(), 1U);
  const Said none = session.run({"logs", "@last/9"});
  EXPECT_EQ(none.exit.code, 1);
  EXPECT_THAT(none.err, HasSubstr("has 1 measurements"));
  EXPECT_EQ(session.run({"logs", "@last/x"}).exit.code, 1);
}

TEST(Idle, RefusesBadOptionsByName) {
  Session session;
  const Said said = session.run(
      {"run", "-m", "tiny", "-l", "32", "-b", "1", "--wait-idle", "soon", "--if-busy", "maybe"});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("--wait-idle: 'soon' is not a number of seconds"));
  EXPECT_THAT(said.err, HasSubstr("--if-busy: 'maybe' is none of warn, refuse"));
}

}  // namespace
}  // namespace tunebench::integration
