#include "tunebench/hub/model_map.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(const Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

// The counts and rows of ado 1.8.12.
TEST(ModelMapTest, HasTheNamesOfTheReferenceSystem) {
  const ModelMap map = ModelMap::built_in();
  int vanilla = 0;
  int gptq = 0;
  int public_ids = 0;
  for (const ModelSources& one : map.all()) {
    vanilla += one.vanilla.empty() ? 0 : 1;
    gptq += one.gptq.empty() ? 0 : 1;
    public_ids += one.vanilla.empty() || one.vanilla.front() == '/' ? 0 : 1;
    EXPECT_EQ(one.where, "");
  }
  EXPECT_EQ(map.all().size(), 41U);
  EXPECT_EQ(vanilla, 39) << "all but granite-8b-code-instruct, which has none, and granite-3b-1.5, "
                            "whose folder is not published";
  EXPECT_EQ(gptq, 9);
  EXPECT_EQ(public_ids, 22);
  EXPECT_EQ(map.find("granite-3-8b")->vanilla, "ibm-granite/granite-3.0-8b-base");
  EXPECT_EQ(map.find("llama3.1-405b")->gptq, "/hf-models-pvc/LLaMa/models/hf/llama3.1-405b-gptq");
  EXPECT_EQ(map.find("mistral-7b-v0.1")->in_format(kGptqQuantized),
            "/hf-models-pvc/mistral-7B-v0.3-gptq");
  EXPECT_EQ(map.find("granite-8b-code-instruct")->in_format(kVanilla), "");
  EXPECT_EQ(map.find("gpt2"), nullptr);
}

TEST(ModelMapTest, TheUsersFileLiesOverIt) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "models.yaml";
  write_file_atomically(file,
                        "granite-3-8b:\n  Vanilla: me/other\nmine: org/name@v2\n"
                        "near:\n  Vanilla: ./weights\n  GPTQ-Quantized: /data/q\n007: org/seven\n");
  Diagnostics problems;
  ModelMap map = ModelMap::built_in();
  map.add_file(file, problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(map.all().size(), 44U);
  EXPECT_EQ(map.find("granite-3-8b")->vanilla, "me/other");
  EXPECT_EQ(map.find("granite-3-8b")->where, file.string() + ":1:1");
  EXPECT_EQ(map.find("mine")->vanilla, "org/name@v2");
  EXPECT_EQ(map.find("near")->vanilla, (folder.path() / "weights").string());
  EXPECT_EQ(map.find("near")->gptq, "/data/q");
  EXPECT_EQ(map.find("007")->vanilla, "org/seven");
}

TEST(ModelMapTest, TellsMistakesWithTheirPlace) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "models.yaml").string();
  const auto told = [&](const char* text) {
    write_file_atomically(file, text);
    Diagnostics problems;
    ModelMap::built_in().add_file(file, problems);
    return lines_of(problems);
  };
  EXPECT_THAT(told("a:\n  Vanila: x/y\n"),
              ElementsAre(testing::AllOf(HasSubstr(file + ":2:3"), HasSubstr("Vanila"),
                                         HasSubstr("did you mean 'Vanilla'?"))));
  EXPECT_THAT(told("- a\n"), ElementsAre(HasSubstr("expected model names with their sources")));
  EXPECT_THAT(told("a: [x/y]\n"), ElementsAre(HasSubstr(file + ":1:4")));
  EXPECT_THAT(told("a: x/y\na: x/z\n"), ElementsAre(HasSubstr("2")));
}

TEST(ModelMapTest, TheUsualFileMayBeAbsent) {
  const TemporaryFolder folder;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  Diagnostics problems;
  EXPECT_EQ(read_model_map(std::nullopt, problems).all().size(), 41U);
  write_file_atomically(folder.path() / "tunebench/models.yaml", "mine: org/name\n");
  EXPECT_NE(read_model_map(std::nullopt, problems).find("mine"), nullptr);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(read_model_map(folder.path() / "none.yaml", problems).find("mine"), nullptr);
  EXPECT_THAT(lines_of(problems), ElementsAre(HasSubstr("none.yaml")));
  ::unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace tunebench::hub
