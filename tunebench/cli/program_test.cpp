#include "tunebench/cli/program.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/cli/command.h"
#include "tunebench/experiment/property.h"

namespace tunebench::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

Said say(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  const int code = run_program(words, console);
  return {code, out.str(), err.str()};
}

TEST(Program, TellsItsVersion) {
  const Said said = say({"--version"});
  EXPECT_EQ(said.code, kOk);
  EXPECT_THAT(said.out, StartsWith("tunebench " + build_info().version));
}

TEST(Program, ShowsHelpWithoutWords) {
  EXPECT_EQ(say({}).out, say({"--help"}).out);
  EXPECT_THAT(say({}).out, HasSubstr("tunebench run --model tiny"));
}

TEST(Program, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : all_commands()) {
    std::vector<std::string> words;
    std::istringstream name(command.spec.name);
    for (std::string word; name >> word;) {
      words.push_back(word);
    }
    words.push_back("--help");
    const Said said = say(words);
    EXPECT_EQ(said.code, kOk) << command.spec.name;
    EXPECT_THAT(said.out, HasSubstr("usage: tunebench " + command.spec.name));
    if (!command.spec.hidden) {
      EXPECT_THAT(said.out, HasSubstr("--json"));
      EXPECT_THAT(said.out, HasSubstr("examples:"));
    }
  }
}

TEST(Program, RunTakesEveryInputAsAnOption) {
  const std::string help = say({"run", "--help"}).out;
  for (const experiment::Property& property : experiment::properties()) {
    std::string option = "--" + property.name;
    std::replace(option.begin(), option.end(), '_', '-');
    EXPECT_THAT(help, HasSubstr(option)) << property.name;
  }
  EXPECT_THAT(help, HasSubstr("--model-max-length, -l, --length, --seq N"));
}

TEST(Program, NamesTheNearestCommand) {
  const Said said = say({"exprot"});
  EXPECT_EQ(said.code, kUsage);
  EXPECT_THAT(said.err, HasSubstr("unknown command 'exprot' - did you mean 'export'?"));
  EXPECT_THAT(said.out, IsEmpty());
}

TEST(Program, RunReportsAllMistakesAtOnceAndWritesNothing) {
  const TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / "a" / "store.db";
  const Said said =
      say({"run", "--model", "tinny", "--length", "32", "--bacth", "4", "--batch", "0", "--repeats",
           "0", "--experiment", "finetune_gptq-lora_benchmark", "--store", store.string()});
  EXPECT_EQ(said.code, kUsage);
  EXPECT_THAT(said.err, HasSubstr("unknown option '--bacth' - did you mean '--batch'?"));
  EXPECT_THAT(said.err, HasSubstr("--batch"));
  EXPECT_THAT(said.err, HasSubstr("did you mean 'tiny'"));
  EXPECT_THAT(said.err, HasSubstr("--repeats: '0' is not a whole number of at least 1"));
  EXPECT_THAT(said.err, HasSubstr("finetune_gptq-lora_benchmark-v1.0.0 cannot be run"));
  EXPECT_THAT(said.err, HasSubstr("5 mistakes. Nothing was run."));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
}

TEST(Program, NoErrorLineShowsASecret) {
  const Said unknown = say({"run", "--hf-token=planted", "-m", "https://user:planted@host/m", "-l",
                            "32", "-b", "1", "--dataset", "hf_plantedplantedplantedplanted.jsonl"});
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_THAT(unknown.err, HasSubstr("***"));
  EXPECT_THAT(unknown.err, Not(HasSubstr("planted")));
  const Said store = say({"runs", "--store", "/nowhere/password=planted/store.db"});
  EXPECT_THAT(store.err, AllOf(HasSubstr("/nowhere"), Not(HasSubstr("planted"))));
}

TEST(Program, ListsAreJsonWhenAsked) {
  for (const std::string list : {"experiments", "inputs", "metrics", "models", "datasets"}) {
    const Said said = say({list, "--json"});
    EXPECT_EQ(said.code, kOk) << list;
    EXPECT_GE(Json::parse(said.out, list).as_array().size(), 5U) << list;
    EXPECT_EQ(say({list}).code, kOk) << list;
  }
}

TEST(Program, TokenizesWithBytesByDefault) {
  EXPECT_EQ(say({"tokenize", "abc"}).out, "100 101 102\n");
  const Json json = Json::parse(say({"tokenize", "abc", "--json"}).out, "tokenize");
  EXPECT_EQ(json.at("count").as_int(), 3);
  EXPECT_EQ(say({"tokenize"}).code, kUsage);
}

TEST(Program, MakesAndCountsDatasets) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "d.jsonl").string();
  EXPECT_EQ(say({"datasets", "make", "--entries", "3", "--min-tokens", "50", "-o", file}).code,
            kOk);
  const Said said = say({"datasets", "count", file, "--json"});
  EXPECT_EQ(said.code, kOk);
  const Json counts = Json::parse(said.out, "count");
  EXPECT_EQ(counts.at("entries").as_int(), 3);
  EXPECT_GE(counts.at("tokens_min").as_int(), 50);
}

TEST(Program, AMissingStoreIsOneLine) {
  const TemporaryFolder folder;
  const Said said = say({"runs", "--store", (folder.path() / "none.db").string()});
  EXPECT_EQ(said.code, kUsage);
  EXPECT_THAT(said.err, HasSubstr("none.db"));
  EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace tunebench::cli
