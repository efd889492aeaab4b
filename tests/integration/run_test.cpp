#include <chrono>
#include <cmath>
#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"
#include "tunebench/base/text.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Short measurements of the smallest model.
std::vector<std::string> short_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words{"run", "--model",     "tiny", "--length",  "32,64", "--batch",
                                 "1,2", "--max-steps", "12",   "--repeats", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Run, MeasuresATableAndReusesItNextTime) {
  Session session;
  const Said first = session.run(short_run());
  EXPECT_EQ(first.exit.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("length  batch  tokens/s"));
  // A busy machine adds a line about warm-up.
  EXPECT_GE(std::count(first.out.begin(), first.out.end(), '\n'), 7) << first.out;
  EXPECT_THAT(first.out, HasSubstr("best tokens/s: length="));
  EXPECT_THAT(first.out, HasSubstr("weights: random (seed 1)"));
  EXPECT_THAT(first.err, HasSubstr("plan: 4 points, 0 reused"));
  EXPECT_THAT(first.err, HasSubstr("again with the same command: 4 reused"));

  const Said second = session.run(short_run());
  EXPECT_EQ(second.exit.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("plan: 4 points, 4 reused"));
  EXPECT_EQ(session.exported().as_array().size(), 4U) << "nothing was measured twice";
}

TEST(Run, RatesAreTokensOverSecondsToTheToken) {
  Session session;
  // Without a bound of its own, by the rules of warm-up and window; and stopped early by the clock.
  ASSERT_EQ(session.run({"run", "-m", "tiny", "-l", "32", "-b", "2"}).exit.code, 0);
  ASSERT_EQ(session.run({"run", "-m", "tiny", "-l", "32", "-b", "2", "--stop-after-seconds", "1"})
                .exit.code,
            0);
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U);
  for (const Json& row : rows.as_array()) {
    const double tokens = row.at("tokens_per_s").as_double() * row.at("timed_s").as_double();
    EXPECT_EQ(std::llround(tokens), row.at("tokens_nonpad").as_int());
    EXPECT_NEAR(tokens, row.at("tokens_nonpad").as_double(), 1e-6 * tokens);
    EXPECT_EQ(row.at("tokens").as_int(), row.at("steps").as_int() * 4 * 2 * 32)
        << "four micro-batches of two full samples a step";
    EXPECT_GT(row.at("host_peak_bytes").as_int(), 0);
    EXPECT_GE(row.at("setup_s").as_double(), 0);
    EXPECT_GT(row.at("loss_first").as_double(), 0);
    EXPECT_GT(row.at("grad_norm_first").as_double(), 0);
  }
  EXPECT_GE(rows.as_array()[0].at("steps").as_int(), 20);
  // A fast machine is through the 4096 entries of its one epoch before.
  EXPECT_TRUE(rows.as_array()[0].at("timed_s").as_double() >= 5.0 ||
              rows.as_array()[0].at("steps_total").as_int() == 4096 / (2 * 4));
}

TEST(Run, OneSeedGivesTheSameLossesTwice) {
  Session session;
  const std::vector<std::string> words{"run", "-m",          "tiny", "-l",        "32", "-b",
                                       "2",   "--max-steps", "12",   "--repeats", "2"};
  ASSERT_EQ(session.run(words).exit.code, 0);
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U);
  for (const char* field : {"loss_first", "loss_last", "grad_norm_first", "grad_norm_last"}) {
    EXPECT_EQ(rows.as_array()[0].at(field).as_double(), rows.as_array()[1].at(field).as_double())
        << field;
  }
}

TEST(Run, WritesOnlyTheResultToStandardOutput) {
  Session session;
  const Said said = session.run(short_run({"--json"}));
  EXPECT_EQ(said.exit.code, 0) << said.err;
  const Json result = Json::parse(said.out, "run --json");
  EXPECT_EQ(result.at("points").as_array().size(), 4U);
  EXPECT_EQ(result.at("records").as_array().size(), 4U);
  EXPECT_EQ(result.at("status").as_string(), "finished");
  EXPECT_THAT(session.run(short_run({"--quiet"})).err, IsEmpty());
}

TEST(Run, ReadsAModelFolderAndAJsonLinesFile) {
  Session session;
  make_model_folder(session.folder() / "modèle 🦙");
  const std::string data =
      session.write("d.jsonl",
                    "{\"output\":\"aaa\"}\n{\"output\":\"bbbbb\"}\n{\"output\":\"cccccccc\"}\n"
                    "{\"output\":\"dd\"}\n");
  const Said said = session.run({"run", "--model", "modèle 🦙", "--dataset", data, "--length",
                                 "32", "--batch", "1,2,4", "--gradient-accumulation-steps", "1",
                                 "--num-train-epochs", "1", "--repeats", "1"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out, Not(HasSubstr("random")));
  const Json table = session.exported();
  for (const Json& row : table.as_array()) {
    EXPECT_EQ(row.at("weights").as_string(), "loaded");
    EXPECT_EQ(row.at("tokens_nonpad_total").as_int(), 18) << "whatever the batch";
    const std::int64_t batch = row.at("batch_size").as_int();
    EXPECT_EQ(row.at("tokens_total").as_int(), batch == 1   ? 18
                                               : batch == 2 ? 26
                                                            : 32)
        << "with padding, batch " << batch;
  }
}

// TPT-07: batch 1 four times and batch 4 once are the same step.
TEST(Run, AccumulatedSamplesAreCountedLikeABatch) {
  Session session;
  const std::string data = session.write(
      "tp.jsonl",
      "{\"text\":\"aaa\"}\n{\"text\":\"bbbbb\"}\n{\"text\":\"cccccccc\"}\n{\"text\":\"dd\"}\n");
  for (const auto& [batch, accumulation] : {std::pair("1", "4"), std::pair("4", "1")}) {
    const Said said =
        session.run({"run", "-m", "tiny", "--dataset", data, "-l", "32", "-b", batch,
                     "--gradient-accumulation-steps", accumulation, "--num-train-epochs", "1"});
    EXPECT_EQ(said.exit.code, 0) << said.err;
  }
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U);
  for (const Json& row : rows.as_array()) {
    EXPECT_EQ(row.at("tokens_nonpad_total").as_int(), 18);
    EXPECT_EQ(row.at("steps_total").as_int(), 1);
    EXPECT_EQ(row.at("samples_total").as_int(), 4);
  }
}

TEST(Run, AChangedDatasetIsMeasuredAgain) {
  Session session;
  const std::string data = session.write("d.jsonl", "{\"output\":\"aaaa\"}\n");
  const std::vector<std::string> words{"run", "-m", "tiny", "--dataset",   data, "-l",
                                       "8",   "-b", "1",    "--max-steps", "2"};
  ASSERT_EQ(session.run(words).exit.code, 0);
  EXPECT_THAT(session.run(words).err, HasSubstr("1 reused"));
  session.write("d.jsonl", "{\"output\":\"aaab\"}\n");
  EXPECT_THAT(session.run(words).err, HasSubstr("0 reused"));
}

TEST(Run, KilledInTheMiddleItGoesOnWhereItStopped) {
  Session session;
  const std::vector<std::string> words{
      "run", "-m", "tiny", "-l", "32", "-b", "1..5", "--repeats", "1", "--stop-after-seconds", "1"};
  Session::Running killed = session.start(words);
  ASSERT_TRUE(session.wait_for_measurements(1));
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait().exit.signal, SIGKILL);
  const std::size_t saved = session.exported().as_array().size();
  EXPECT_THAT(session.run({"runs"}).out, HasSubstr("interrupted"));

  const Said again = session.run(words);
  EXPECT_EQ(again.exit.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("plan: 5 points, " + std::to_string(saved) + " reused"));
  const Json rows = session.exported();
  EXPECT_EQ(rows.as_array().size(), 5U) << "nothing lost, nothing twice";
  std::set<std::int64_t> batches;
  for (const Json& row : rows.as_array()) {
    EXPECT_EQ(row.at("status").as_string(), "ok");
    batches.insert(row.at("batch_size").as_int());
  }
  EXPECT_EQ(batches.size(), 5U);
}

TEST(Run, TellsOfADeadRunOnce) {
  Session session;
  const std::vector<std::string> words{
      "run", "-m", "tiny", "-l", "32", "-b", "1..3", "--repeats", "1", "--stop-after-seconds", "1"};
  Session::Running killed = session.start(words);
  ASSERT_TRUE(session.wait_for_measurements(1));
  killed.signal(SIGKILL);
  killed.wait();
  const Said again = session.run(words);
  EXPECT_THAT(again.err, HasSubstr(" was interrupted "));
  EXPECT_THAT(again.err, HasSubstr(" of 3 measurements (all "));
  EXPECT_THAT(again.err, HasSubstr(" saved). Continue: tunebench resume "));
  EXPECT_THAT(session.run(words).err, Not(HasSubstr("was interrupted")));
}

TEST(Run, CtrlCKeepsWhatIsMeasuredAndNamesTheCommandThatGoesOn) {
  Session session;
  const std::vector<std::string> words{
      "run", "-m", "tiny", "-l", "32", "-b", "1..3", "--repeats", "1", "--stop-after-seconds", "1"};
  Session::Running running = session.start(words);
  ASSERT_TRUE(session.wait_for_measurements(1));
  running.signal(SIGINT);
  const Said said = running.wait(std::chrono::seconds(10));
  EXPECT_EQ(said.exit.code, 130);
  EXPECT_THAT(said.err, HasSubstr("goes on where it stopped: tunebench run -m tiny"));
  EXPECT_THAT(session.run({"runs"}).out, HasSubstr("interrupted"));
  const Said again = session.run(words);
  EXPECT_EQ(again.exit.code, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("was interrupted"))) << "that was told at once";
}

TEST(Run, SeveralProcessesShareAStore) {
  Session session;
  std::vector<Session::Running> running;
  for (int batch = 1; batch <= 4; ++batch) {
    running.push_back(session.start(
        {"run", "-m", "tiny", "-l", "16", "-b", std::to_string(batch), "--max-steps", "6"}));
  }
  for (Session::Running& one : running) {
    const Said said = one.wait();
    EXPECT_EQ(said.exit.code, 0) << said.err;
  }
  EXPECT_EQ(session.exported().as_array().size(), 4U);
  EXPECT_EQ(Json::parse(session.run({"runs", "--json"}).out, "runs").as_array().size(), 4U);
}

TEST(Run, AFailedPointIsARowWithItsReason) {
  Session session;
  const Said said = session.run(
      {"run", "-m", "smollm2-135m", "-l", "512", "-b", "1", "--memory-limit-gib", "0.5"});
  EXPECT_EQ(said.exit.code, 3) << said.err;
  EXPECT_THAT(said.out, HasSubstr("oom_host"));
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 1U) << "memory does not grow by trying again";
  const Json& row = rows.as_array()[0];
  EXPECT_EQ(row.at("status").as_string(), "oom_host");
  EXPECT_FALSE(row.at("is_valid").as_bool());
  EXPECT_THAT(row.at("reason").as_string(), Not(IsEmpty()));
  EXPECT_TRUE(row.at("tokens_per_s").is_null());
  const Said some =
      session.run({"run", "-m", "tiny,smollm2-135m", "-l", "512", "-b", "1", "--memory-limit-gib",
                   "0.5", "--max-steps", "2", "--repeats", "1"});
  EXPECT_EQ(some.exit.code, 2) << some.err;
}

TEST(Run, APointThatTakesTooLongIsATimeout) {
  Session session;
  const Said said = session.run(
      {"run", "-m", "tiny", "-l", "32", "-b", "1", "--stop-after-seconds", "30", "--timeout", "1"});
  EXPECT_EQ(said.exit.code, 3) << said.err;
  EXPECT_THAT(said.out, HasSubstr("timeout"));
}

TEST(Export, WritesEveryFormatToFilesAndStandardOutput) {
  Session session;
  ASSERT_EQ(session.run(short_run()).exit.code, 0);
  ASSERT_EQ(session.run({"export", "@last", "--format", "csv", "-o", "r.csv"}).exit.code, 0);
  EXPECT_EQ(read_file(session.folder() / "r.csv"),
            session.run({"export", "@last", "--format", "csv", "-o", "-"}).out);
  const std::vector<std::string> lines =
      split(session.run({"export", "--format", "csv"}).out, '\n');
  EXPECT_EQ(lines.size(), 6U) << "header, four rows, end";
  EXPECT_EQ(split(session.run({"export", "--format", "jsonl"}).out, '\n').size(), 5U);
  EXPECT_THAT(session.run({"export", "--format", "md"}).out, HasSubstr("| tokens_per_s |"));
  const Json rows = Json::parse(session.run({"export", "--json"}).out, "export");
  for (const Json& row : rows.as_array()) {
    for (const char* name : {"run",
                             "status",
                             "reason",
                             "is_valid",
                             "tokens_per_s",
                             "timed_s",
                             "steps",
                             "tokens",
                             "tokens_nonpad",
                             "tokens_trained",
                             "loss_first",
                             "loss_last",
                             "grad_norm_first",
                             "host_peak_bytes",
                             "setup_s",
                             "model_name",
                             "model_max_length",
                             "batch_size",
                             "number_gpus",
                             "torch_dtype",
                             "gradient_checkpointing"}) {
      EXPECT_NE(row.find(name), nullptr) << name;
    }
  }
}

TEST(Show, RepeatsTheTable) {
  Session session;
  const Said run = session.run(short_run());
  const Said show = session.run({"show"});
  EXPECT_EQ(show.exit.code, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr(run.out));
  EXPECT_THAT(show.out, HasSubstr("tunebench run --model tiny"));
  const Json json = Json::parse(session.run({"show", "@last", "--json"}).out, "show");
  EXPECT_EQ(json.at("points").as_array().size(), 4U);
  EXPECT_EQ(session.run({"show", "no-such-run"}).exit.code, 1);
}

}  // namespace
}  // namespace tunebench::integration
