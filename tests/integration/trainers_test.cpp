// Outside trainers as a user runs them, over stand-ins for PyTorch and transformers: no download.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A session with the environment of trainer hf as if it were made: python3 with the stand-ins.
class Trainers : public testing::Test {
 protected:
  Trainers() {
    ::setenv("TUNEBENCH_ENVS", (session_.folder() / "envs").c_str(), 1);
    make_model_folder(session_.folder() / "model");
    std::string lines;
    for (int row = 0; row < 10; ++row) {
      lines +=
          R"({"output": ")" + std::string(static_cast<std::size_t>(7 + 5 * row), 'a') + "\"}\n";
    }
    data_ = session_.write("d.jsonl", lines);
  }
  ~Trainers() override { ::unsetenv("TUNEBENCH_ENVS"); }

  void make_environment() {
    const Json all = Json::parse(session_.run({"envs", "--json"}).out, "envs");
    for (const Json& one : all.as_array()) {
      const std::filesystem::path folder = one.at("folder").as_string();
      const std::filesystem::path python = folder / "bin" / "python";
      write_file_atomically(
          python, "#!/bin/sh\nPYTHONPATH=\"$PYTHONPATH:" TB_FAKE_PYTHON "\" exec python3 \"$@\"\n");
      std::filesystem::permissions(python, std::filesystem::perms::owner_all);
      write_file_atomically(folder / "tunebench-environment.json",
                            R"({"made_at": "2026-01-01T00:00:00Z"})");
    }
  }
  std::vector<std::string> run_words(const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "run",     "--model", "model",     "--dataset", data_,           "--length", "32",
        "--batch", "2",       "--repeats", "1",         "--torch-dtype", "float32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// The only record of a run with `program`, at most one attempt.
  Json record_of(const std::string& program, const std::vector<std::string>& more = {}) {
    const std::string file = session_.write("program.py", program);
    std::vector<std::string> words{"--trainer", "command", "--max-steps", "4"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "python3", file});
    said_ = session_.run(run_words(words));
    return session_.exported().as_array().back();
  }

  Session session_;
  std::string data_;
  Said said_;
};

TEST_F(Trainers, NativeAndHfCountTheSameTokensInOneTable) {
  make_environment();
  const std::vector<std::string> words = run_words(
      {"--trainer", "native,hf", "--num-train-epochs", "2", "--gradient-accumulation-steps", "2"});
  const Said said = session_.run(words);
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("best tokens/s: trainer="));
  const Json rows = session_.exported();
  ASSERT_EQ(rows.as_array().size(), 2U) << said.err;
  const Json& native = rows.as_array()[0];
  const Json& hf = rows.as_array()[1];
  EXPECT_EQ(native.at("trainer").as_string(), "native");
  EXPECT_EQ(hf.at("trainer").as_string(), "hf");
  for (const char* field : {"steps_total", "samples_total", "tokens_total", "tokens_nonpad_total",
                            "tokens_trained_total"}) {
    EXPECT_EQ(hf.at(field).as_int(), native.at(field).as_int()) << field;
  }
  EXPECT_EQ(hf.at("samples_total").as_int(), 20);
  EXPECT_EQ(hf.at("device").as_string(), "cpu");
  EXPECT_THAT(hf.at("trainer_version").as_string(), testing::StartsWith("5.24.0+"));
  EXPECT_THAT(session_.run(words).err, HasSubstr("2 reused"));
}

TEST_F(Trainers, ExactPackageVersionsAreInTheRecord) {
  make_environment();
  ASSERT_EQ(session_.run(run_words({"--trainer", "hf", "--max-steps", "2"})).exit.code, 0);
  const Said said = session_.run({"env", "diff", "@last", "now"});
  EXPECT_THAT(said.out, HasSubstr("libraries.transformers: 5.24.0 -> -"));
  EXPECT_THAT(said.out, HasSubstr("libraries.peft: 0.21.2 -> -"));
}

TEST_F(Trainers, HfDoesLoraAndNamesWhoDoesWhatItCannot) {
  make_environment();
  EXPECT_THAT(
      session_.run(run_words({"--experiment", "finetune_adapter_benchmark", "--trainer", "hf"}))
          .err,
      HasSubstr(
          "finetune_adapter_benchmark-v1.0.0 cannot be run by trainer hf - trainers that can: "
          "simulated, command, litgpt"));
  const Said said = session_.run(run_words(
      {"--experiment", "finetune_lora_benchmark", "--max-steps", "2", "--trainer", "hf"}));
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_EQ(session_.exported().as_array().at(0).at("status").as_string(), "ok");
}

constexpr const char* kGood = R"(
import tunebench_events as told
told.hello("mine", "1", "cpu")
for n in range(4):
    told.begin_step(); told.count_numbers(8, 256, 200, 192)
    if not told.end_step(loss=2.0): break
told.end()
)";

TEST_F(Trainers, AnyProgramIsMeasuredAndItsEditedScriptMeasuredAgain) {
  EXPECT_EQ(record_of(kGood).at("status").as_string(), "ok") << said_.err;
  EXPECT_EQ(record_of(kGood).at("tokens_trained_total").as_int(), 4 * 192);
  EXPECT_THAT(said_.err, HasSubstr("1 reused"));
  record_of(std::string(kGood) + "# edited\n");
  EXPECT_THAT(said_.err, HasSubstr("0 reused"));
}

TEST_F(Trainers, APlanFileNamesThemAndTheProgram) {
  const std::string program = session_.write("program.py", kGood);
  const std::string plan = session_.write(
      "plan.yaml",
      "repeats: 1\ncommand: [python3, " + program +
          "]\ninputs: {model_name: model, dataset_id: " + data_ +
          ", model_max_length: 32, batch_size: 2, torch_dtype: float32, max_steps: 4}\n"
          "experiments:\n"
          "  - {experiment: finetune_full_benchmark}\n"
          "  - {experiment: finetune_full_benchmark, inputs: {trainer: command}}\n");
  const Said planned = session_.run({"plan", plan});
  EXPECT_THAT(planned.out,
              testing::AllOf(HasSubstr("native a guess"), HasSubstr("command a guess")))
      << planned.err;
  const Said ran = session_.run({"run", plan});
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  const Json rows = session_.exported();
  EXPECT_EQ(rows.as_array()[0].at("trainer").as_string(), "native");
  EXPECT_EQ(rows.as_array()[1].at("trainer").as_string(), "command");
  EXPECT_THAT(session_.run({"run", plan}).err, HasSubstr("2 reused"));
  EXPECT_THAT(session_.run({"run", plan, "--save-plan", "-"}).out, HasSubstr("command:\n  - \"py"));
  EXPECT_THAT(session_.run({"run", plan, "--trainer", "native"}).err,
              HasSubstr("only --trainer command runs a program"));
}

TEST_F(Trainers, ARunOfAProgramIsMadeAgainWithItsWords) {
  record_of(kGood);
  const Said again = session_.run({"rerun", "@last", "--set", "seed=5"});
  EXPECT_EQ(again.exit.code, 0) << again.err;
  const Json row = session_.exported().as_array().back();
  EXPECT_EQ(row.at("trainer").as_string(), "command");
  EXPECT_EQ(row.at("seed").as_int(), 5);
}

TEST_F(Trainers, TwoRunsOfOtherTrainersAreComparedByTheRest) {
  make_environment();
  const std::vector<std::string> same{"--max-steps", "4", "--fresh"};
  for (const char* trainer : {"native", "hf"}) {
    std::vector<std::string> words = run_words(same);
    words.insert(words.end(), {"--trainer", trainer});
    ASSERT_EQ(session_.run(words).exit.code, 0);
  }
  const Said said = session_.run({"compare", "@last~1", "@last", "--by", "model,length,batch"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("other inputs differ: trainer: native -> hf"));
}

TEST_F(Trainers, ExitCode0ProvesNothing) {
  std::string untrained = kGood;
  untrained.replace(untrained.find("200, 192"), 8, "200, 0");
  const Json nothing = record_of(untrained);
  EXPECT_EQ(nothing.at("status").as_string(), "invalid_config");
  EXPECT_THAT(nothing.at("reason").as_string(), HasSubstr("no token was trained in 4 steps"));
  std::string elsewhere = kGood;
  elsewhere.replace(elsewhere.find("\"cpu\""), 5, "\"cuda\"");
  const Json device = record_of(elsewhere);
  EXPECT_EQ(device.at("status").as_string(), "cuda");
  EXPECT_THAT(device.at("reason").as_string(), HasSubstr("asked for cpu, but rank 0 trained on "));
}

TEST_F(Trainers, TheReasonIsTheLineThatNamesTheError) {
  const Json record = record_of("import no_such_package_at_all\n");
  EXPECT_EQ(record.at("status").as_string(), "invalid_config");
  EXPECT_THAT(record.at("reason").as_string(),
              HasSubstr("ModuleNotFoundError: No module named 'no_such_package_at_all'"));
}

TEST_F(Trainers, ATokenReachesTheProgramAndNothingThatIsKept) {
  ::setenv("HF_TOKEN", "hf_planted0123456789abcdefghijklmnop", 1);
  const Json record =
      record_of(std::string("import os\nassert 'planted' in os.environ['HF_TOKEN']\n") +
                "print(os.environ['HF_TOKEN'])\n" + kGood);
  EXPECT_EQ(record.at("status").as_string(), "ok") << said_.err;
  EXPECT_THAT(record.dump(), Not(HasSubstr("planted")));
  EXPECT_THAT(said_.out + said_.err, Not(HasSubstr("planted")));
  ::unsetenv("HF_TOKEN");
}

TEST_F(Trainers, EnvironmentsAreListedCheckedAndRemoved) {
  EXPECT_THAT(session_.run({"envs"}).out, HasSubstr("not made"));
  EXPECT_EQ(session_.run({"envs", "check", "hf"}).exit.code, 1);
  make_environment();
  EXPECT_THAT(session_.run({"envs", "list"}).out, Not(HasSubstr("not made")));
  EXPECT_THAT(session_.run({"envs", "check", "hf"}).out,
              testing::AllOf(HasSubstr("hf-5.24.0: "), HasSubstr("is missing"), HasSubstr("more")));
  EXPECT_EQ(session_.run({"envs", "rm", "hf"}).exit.code, 0);
  const Said again = session_.run({"envs", "rm", "hf"});
  EXPECT_EQ(again.exit.code, 1);
  EXPECT_THAT(again.err, HasSubstr("there is no environment"));
  EXPECT_THAT(session_.run({"envs", "make", "hg"}).err, HasSubstr("did you mean 'hf'"));
  EXPECT_THAT(session_.run({"trainers"}).out, HasSubstr("hf-5.24.0 (not made)"));
}

}  // namespace
}  // namespace tunebench::integration
