// The session of a new user and of a second terminal, word for word. What differs from run to run
// (names of runs, dates, ages) is replaced; TB_UPDATE_DOCS=1 writes the file.
#include <cstdlib>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"
#include "tunebench/base/text.h"

namespace tunebench::integration {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(TB_GOLDEN_FOLDER) / "session";

/// A model whose larger batches are faster and whose largest does not fit.
constexpr const char* kModel = R"({"time_scale":0,"seed":1,
  "step":{"base_s":0.02,"per_token_s":1e-5,"run_noise":{"sd":0.002}},
  "memory":{"base_bytes":1073741824,"per_token_bytes":524288,"limit_bytes":8589934592}})";
constexpr const char* kSlowerModel = R"({"time_scale":0,"seed":2,
  "step":{"base_s":0.02,"per_token_s":1.1e-5,"run_noise":{"sd":0.002}},
  "memory":{"base_bytes":1073741824,"per_token_bytes":524288,"limit_bytes":8589934592}})";

class GoldenSession : public testing::Test {
 protected:
  /// The command as typed and everything that it said, with its exit code unless that is 0.
  void type(const std::vector<std::string>& words) {
    const Said said = session_.run(words);
    text_ += "$ tunebench";
    for (const std::string& word : words) {
      text_ += word.find_first_of(" <>*'") == std::string::npos ? " " + word : " '" + word + "'";
    }
    text_ += "\n" + said.out;
    for (const std::string& line : split(said.err, '\n')) {
      text_ += line.empty() ? "" : "| " + line + "\n";
    }
    if (said.exit.code != 0) {
      text_ += "(exit " + std::to_string(said.exit.code) + ")\n";
    }
    text_ += "\n";
  }

  /// Names of runs become those of the documents, in the order of their making.
  void name_runs() {
    const std::vector<std::string> names{"brisk-otter", "calm-heron", "dry-finch", "keen-lynx"};
    const Json runs = Json::parse(session_.run({"runs", "--simulated", "--json"}).out, "runs");
    std::size_t next = runs.as_array().size();
    ASSERT_LE(next, names.size());
    for (const Json& run : runs.as_array()) {
      replace(run.at("run").as_string(), names[--next]);
    }
  }

  void replace(const std::string& pattern, const std::string& by) {
    text_ = std::regex_replace(text_, std::regex(pattern), by);
  }

  void expect_golden(const std::string& name) {
    name_runs();
    replace(session_.folder().string(), "FOLDER");
    replace("\n(run|[a-z]+-[a-z]+) +(started|now) +", "\n$1  $2  ");  // as wide as the longest name
    replace("[0-9-]{10}T[0-9:]{8}Z", "DATE");
    replace("\\((now|[0-9]+ min ago)\\)", "(AGE)");
    const std::filesystem::path file = kGolden / (name + ".txt");
    if (std::getenv("TB_UPDATE_DOCS") != nullptr) {
      std::ofstream(file) << text_;
    }
    EXPECT_EQ(read_file(file), text_);
  }

  Session session_;
  std::string text_;
};

TEST_F(GoldenSession, MeasuresReusesAndCompares) {
  session_.write("model.json", kModel);
  const std::vector<std::string> measure{"run",       "--model",      "smollm2-135m", "--seq",
                                         "512,1024",  "--batch",      "4,8",          "--trainer",
                                         "simulated", "--simulation", "model.json"};
  type(measure);
  type(measure);
  session_.write("model.json", kSlowerModel);
  type(measure);
  type({"runs", "--simulated"});
  type({"compare", "@last~2", "@last", "--simulated", "--fail-if", "tokens_per_s < -3%"});
  type({"pareto", "@last", "--simulated", "--max", "tokens_per_s", "--min", "peak_mem_gib"});
  type({"best", "@last", "--simulated"});
  expect_golden("measure-reuse-compare");
}

TEST_F(GoldenSession, TellsMistakesAndFailures) {
  session_.write("model.json", kModel);
  session_.write("plan.yaml",
                 "# a plan with two mistakes\n"
                 "simulation: model.json\n"
                 "inputs:\n"
                 "  model_name: smollm2-135m\n"
                 "  trainer: simulated\n"
                 "  bacth_size: [4, 8]\n"
                 "optimize: token_per_s\n");
  type({"run", "plan.yaml"});
  type({"run", "--modle", "smollm2-135m"});
  type({"run", "--model", "smollm2-135m", "--seq", "1024", "--batch", "8,16", "--trainer",
        "simulated", "--simulation", "model.json", "--repeats", "1"});
  type({"show", "@last", "--simulated"});
  type({"compare", "@last", "no-such-run"});
  expect_golden("mistakes-and-failures");
}

}  // namespace
}  // namespace tunebench::integration
