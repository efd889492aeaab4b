// tunebench models get, list, show, check, rm, and models of the cache in a run.
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub_server.h"
#include "session.h"
#include "tunebench/base/text.h"

namespace tunebench::hub_tests {
namespace {

using integration::Said;
using integration::Session;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kModel = "org/small";

/// The program with a hub and a cache of its own.
class ModelsTest : public ::testing::Test {
 protected:
  ModelsTest() {
    ::setenv("HF_ENDPOINT", server.url().c_str(), 1);
    ::setenv("HF_HOME", home().c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", (session.folder() / "config").c_str(), 1);
    for (const char* name :
         {"HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
      ::unsetenv(name);
    }
  }
  ~ModelsTest() override {
    for (const char* name :
         {"HF_ENDPOINT", "HF_HOME", "XDG_CONFIG_HOME", "HF_TOKEN", "HF_HUB_OFFLINE"}) {
      ::unsetenv(name);
    }
  }

  [[nodiscard]] std::filesystem::path home() const { return session.folder() / "hf"; }

  Said run_model(const std::string& model, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run", "--model",     model, "--length",  "32", "--batch",
                                   "1",   "--max-steps", "4",   "--repeats", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return session.run(words);
  }

  HubServer server;
  Session session;
};

TEST_F(ModelsTest, AModelOfAHubIsFetchedAndMeasured) {
  server.put_model(kModel);
  const Said missing = run_model(kModel);
  EXPECT_EQ(missing.exit.code, 1);
  EXPECT_THAT(missing.err,
              HasSubstr(fmt::format("model 'org/small' is neither a folder nor in the Hugging Face "
                                    "cache {}/hub; get it: tunebench models get org/small\n",
                                    home().string())));
  const Said got = session.run({"models", "get", kModel});
  EXPECT_EQ(got.exit.code, 0) << got.err;
  EXPECT_THAT(got.out, AllOf(StartsWith("org/small: 4 files, "),
                             HasSubstr("next: tunebench run --model org/small --length 512")));
  const Said ran = run_model(kModel);
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  const Json records = session.exported();
  EXPECT_EQ(records.as_array().at(0).at("model_name").as_string(), kModel);
  EXPECT_EQ(records.as_array().at(0).at("weights").as_string(), "loaded");
  EXPECT_EQ(session.run({"tokenize", "abc", "--model", kModel}).out, "100 101 102\n");
  EXPECT_THAT(session.run({"tokenize", "abc", "--model", "org/other"}).err,
              HasSubstr("get it: tunebench models get org/other"));
}

TEST_F(ModelsTest, ListsShowsChecksAndRemoves) {
  server.put_sharded_model(kModel);
  ASSERT_EQ(session.run({"models", "get", kModel}).exit.code, 0);
  EXPECT_THAT(session.run({"models"}).out, HasSubstr("licence apache-2.0"));
  EXPECT_EQ(session.run({"models", "list"}).out, session.run({"models"}).out);
  const Json shown = Json::parse(session.run({"models", "show", kModel, "--json"}).out, "show");
  EXPECT_EQ(shown.at("kind").as_string(), "cached");
  EXPECT_EQ(shown.at("licence").as_string(), "apache-2.0");
  EXPECT_EQ(shown.at("runs_with").as_string(), "native");
  EXPECT_EQ(shown.at("files").as_int(), 6);
  EXPECT_GT(shown.at("parameters").as_int(), 1000);
  const Said good = session.run({"models", "check"});
  EXPECT_EQ(good.exit.code, 0);
  EXPECT_THAT(good.out, HasSubstr("  ok\n"));

  const std::filesystem::path shard = std::filesystem::canonical(
      std::filesystem::path(shown.at("folder").as_string()) / "model-00001-of-00002.safetensors");
  std::string bytes = read_file(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(shard, bytes);
  const Said bad = session.run({"models", "check"});
  EXPECT_EQ(bad.exit.code, 2);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("model-00001-of-00002.safetensors: its content is damaged"),
                             HasSubstr("again: tunebench models get --verify org/small")));
  EXPECT_EQ(session.run({"models", "get", "--verify", kModel}).exit.code, 0);
  EXPECT_EQ(session.run({"models", "check", kModel}).exit.code, 0);

  const Said removed = session.run({"models", "rm", kModel});
  EXPECT_EQ(removed.exit.code, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("removed org/small: "));
  EXPECT_FALSE(std::filesystem::exists(home() / "hub" / "models--org--small"));
  const Said again = session.run({"models", "rm", kModel});
  EXPECT_EQ(again.exit.code, 1);
  EXPECT_THAT(again.err, HasSubstr("'org/small' is not in the Hugging Face cache"));
}

TEST_F(ModelsTest, NamesTheNearestSecondWord) {
  EXPECT_THAT(session.run({"models", "gte"}).err, HasSubstr("did you mean 'get'?"));
  EXPECT_THAT(session.run({"models", "imprt"}).err, HasSubstr("did you mean 'import'?"));
  EXPECT_THAT(session.run({"models", "get"}).err, HasSubstr("neither NAME nor -i FILE is given"));
}

TEST_F(ModelsTest, ShowsNamesOfTheReferenceSystem) {
  const Said preset = session.run({"models", "show", "granite-3.1-2b"});
  EXPECT_THAT(preset.out,
              AllOf(HasSubstr("granite-3.1-2b (preset)"),
                    HasSubstr("ibm-granite/granite-3.1-2b-base"), HasSubstr("2,533,531,648")));
  const Json named = Json::parse(
      session.run({"models", "show", "granite-8b-code-instruct", "--json"}).out, "show");
  EXPECT_TRUE(named.at("vanilla").is_null());
  EXPECT_EQ(named.at("gptq_quantized").as_string(),
            "/hf-models-pvc/granite-8b-code-instruct-gptq/");
  const Said other = session.run({"models", "show", "no/such-model"});
  EXPECT_EQ(other.exit.code, 1);
  EXPECT_THAT(other.err, HasSubstr("tunebench models get no/such-model"));
}

TEST_F(ModelsTest, APresetTellsWhetherItsWeightsAreCached) {
  server.put_model("HuggingFaceTB/SmolLM2-135M");
  EXPECT_THAT(session.run({"models", "show", "smollm2-135m"}).out,
              HasSubstr("no; tunebench models get smollm2-135m"));
  EXPECT_EQ(session.run({"models", "get", "smollm2-135m"}).exit.code, 0);
  EXPECT_THAT(session.run({"models", "show", "smollm2-135m"}).out,
              HasSubstr("yes; its weights: --model HuggingFaceTB/SmolLM2-135M"));
  EXPECT_THAT(session.run({"models"}).out, HasSubstr("random weights, cached"));
}

TEST_F(ModelsTest, FetchesWhatAFileNames) {
  server.put_model(kModel);
  server.put_model("org/quantized");
  session.write("m.yaml",
                "one:\n  Vanilla: org/small\n  GPTQ-Quantized: org/quantized\n"
                "two:\n  Vanilla: org/small\nthree:\n  Vanilla: /no/such/folder\n");
  const Said said = session.run({"models", "get", "-i", "m.yaml", "-o", "other", "--json"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  const Json rows = Json::parse(said.out, "get");
  ASSERT_EQ(rows.as_array().size(), 3U) << said.out;
  EXPECT_EQ(rows.as_array().at(1).at("model").as_string(), "org/quantized");
  EXPECT_EQ(rows.as_array().at(2).at("status").as_string(), "folder");
  EXPECT_THAT(said.err, HasSubstr("note: three: is the folder /no/such/folder"));
  EXPECT_TRUE(std::filesystem::exists(session.folder() / "other/hub/models--org--small/refs/main"));
  EXPECT_FALSE(std::filesystem::exists(home()));
  EXPECT_THAT(session.run({"models", "get", kModel, "-o", "other"}).out,
              HasSubstr("next: HF_HOME=other tunebench run --model org/small"));
}

TEST_F(ModelsTest, AFailureIsAnExitCode) {
  server.put_model(kModel);
  const Said some = session.run({"models", "get", "org/absent", kModel, "--json"});
  EXPECT_EQ(some.exit.code, 2);
  EXPECT_THAT(some.err, HasSubstr("tunebench: org/absent is not at "));
  const Json rows = Json::parse(some.out, "get");
  EXPECT_EQ(rows.as_array().at(0).at("status").as_string(), "failed");
  EXPECT_EQ(rows.as_array().at(1).at("status").as_string(), "fetched");
  EXPECT_EQ(session.run({"models", "get", "org/absent"}).exit.code, 1);
  EXPECT_EQ(session.run({"models", "get", "no name"}).exit.code, 1);
  const Said elsewhere = session.run({"models", "get", "llama-7b"});
  EXPECT_EQ(elsewhere.exit.code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("is the folder /hf-models-pvc/LLaMa/models/hf/7B"));
}

TEST_F(ModelsTest, AnOwnNameStandsForItsSource) {
  server.put_model(kModel);
  ASSERT_EQ(session.run({"models", "get", kModel}).exit.code, 0);
  session.write("config/tunebench/models.yaml", "mine:\n  Vanilla: org/small\n");
  EXPECT_THAT(session.run({"models"}).out, HasSubstr("mine"));
  const Said ran = run_model("mine");
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("model mine: org/small"));
  session.write("m.yaml", "tiny:\n  Vanilla: org/small\nhalf:\n  GPTQ-Quantized: org/small\n");
  const Said over = run_model("tiny", {"--models", "m.yaml"});
  EXPECT_THAT(over.err, HasSubstr("model tiny: org/small")) << "the user's word counts";
  EXPECT_THAT(over.err + over.out, HasSubstr("1 reused"));
  EXPECT_THAT(run_model("half", {"--models", "m.yaml"}).err,
              HasSubstr("m.yaml:3:1: model 'half' has no Vanilla weights"));
  session.write("m.yaml", "one:\n  Vanila: org/small\n");
  EXPECT_THAT(run_model("one", {"--models", "m.yaml"}).err, HasSubstr("did you mean 'Vanilla'?"));
}

TEST_F(ModelsTest, ARunGoesOnWithTheNamesItBeganWith) {
  server.put_model(kModel);
  ASSERT_EQ(session.run({"models", "get", kModel}).exit.code, 0);
  session.write("m.yaml", "mine:\n  Vanilla: org/small\n");
  ASSERT_EQ(run_model("mine", {"--models", "m.yaml"}).exit.code, 0);
  std::filesystem::remove(session.folder() / "m.yaml");
  const Said again = session.run({"rerun"});
  EXPECT_EQ(again.exit.code, 0) << again.err;
}

TEST_F(ModelsTest, ATokenIsNeverShown) {
  server.put_model("org/gated-one");
  write_file_atomically(home() / "token", "hf_right\n");
  const Said said = session.run({"models", "get", "org/gated-one"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out + said.err, Not(HasSubstr("hf_right")));
  ::setenv("HF_TOKEN", "hf_wrongwrong", 1);
  const Said refused = session.run({"models", "get", "org/gated-one", "--json"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("the token in HF_TOKEN has none yet"));
  EXPECT_THAT(refused.out + refused.err, Not(HasSubstr("wrongwrong")));
  ::setenv("HF_TOKEN", "two words", 1);
  EXPECT_THAT(session.run({"models", "get", "org/gated-one"}).err,
              AllOf(HasSubstr("HF_TOKEN holds no token of a hub"), Not(HasSubstr("two words"))));
}

TEST_F(ModelsTest, OfflineFetchesNothing) {
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  const Said said = session.run({"models", "get", kModel});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("HF_HUB_OFFLINE forbids to fetch it"));
  EXPECT_THAT(server.requests(), IsEmpty());
}

// CLI-07
TEST_F(ModelsTest, AKilledFetchGoesOn) {
  server.put_model(kModel);
  server.play(Json::array({Json::object({{"path", "/cdn/"}, {"slow_s", 0.2}})}));
  Session::Running running = session.start({"models", "get", kModel});
  const std::filesystem::path blobs = home() / "hub/models--org--small/blobs";
  bool begun = false;
  for (int tries = 0; tries < 1000 && !begun; ++tries) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(blobs, ignored)) {
      begun = begun || (entry.path().extension() == ".incomplete" &&
                        entry.path().filename().string().size() > 60 && entry.file_size() > 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(begun);
  running.signal(SIGKILL);
  running.wait();
  EXPECT_THAT(run_model(kModel).err, HasSubstr("tunebench models get org/small"))
      << "half a model is none";
  const Said again = session.run({"models", "get", kModel});
  EXPECT_EQ(again.exit.code, 0) << again.err;
  EXPECT_FALSE(server.requests("/cdn/").at(1).at("range").is_null());
  EXPECT_EQ(session.run({"models", "check"}).exit.code, 0);
}

// CLI-07: a limit on files stands for a disk that fills up meanwhile.
TEST_F(ModelsTest, AFullDiskIsToldAndTheNextTryGoesOn) {
  server.put_model(kModel);
  const std::string limited =
      fmt::format("ulimit -f 40; exec '{}' models get {}", TB_PROGRAM, kModel);
  Child child =
      Child::start({.argv = {"bash", "-c", limited}, .log_file = session.folder() / "log"});
  const auto status = child.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 1) << status->signal;
  EXPECT_THAT(read_file(session.folder() / "log"),
              AllOf(HasSubstr(".incomplete: File too large; free some space, then the same command "
                              "goes on")));
  EXPECT_EQ(session.run({"models", "get", kModel}).exit.code, 0);
  EXPECT_EQ(server.requests("/cdn/").at(1).at("range").as_string(), "bytes=40960-");
}

// CLI-07
TEST_F(ModelsTest, TooLittleSpaceIsToldBeforehand) {
  server.put_model(kModel);
  server.put(kModel, "model.safetensors", std::string(3U << 20U, 'x'));
  const std::string limited =
      fmt::format("mkdir -p d && mount -t tmpfs -o size=1m none d && exec '{}' models get {} -o d",
                  TB_PROGRAM, kModel);
  Child child = Child::start({.argv = {"unshare", "-m", "bash", "-c", limited},
                              .working_folder = session.folder(),
                              .log_file = session.folder() / "log"});
  const auto status = child.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(status.has_value());
  const std::string log = read_file(session.folder() / "log");
  if (log.find("unshare") != std::string::npos || log.find("mount:") != std::string::npos) {
    GTEST_SKIP() << "no small disk can be mounted here: " << log;
  }
  EXPECT_EQ(status->code, 1);
  EXPECT_THAT(log, AllOf(HasSubstr("org/small: needs 3."), HasSubstr("MiB more, but d/hub has ")));
  EXPECT_THAT(server.requests("/cdn/"), IsEmpty());
}

}  // namespace
}  // namespace tunebench::hub_tests
