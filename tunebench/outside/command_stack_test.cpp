#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of(const std::vector<std::string>& argv) {
  trainer::Job job{.point = test_point({{"learning_rate", 1e-5}})};
  job.planned_steps = 7;
  job.repeat = 2;
  return make_command_stack(argv)->launch({.job = job, .folder = "/run", .port = 4711}).argv;
}

std::string refusal_of(const std::vector<std::string>& argv) {
  try {
    make_command_stack(argv);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(CommandStack, FillsInInputsAndItsOwnNames) {
  EXPECT_THAT(words_of({"train", "--model={model_name}", "{batch_size}x{model_max_length}",
                        "{learning_rate}", "{planned_steps}", "{output_dir}", "{job_file}",
                        "{repeat}", "{port}", "{gradient_checkpointing}", "{gpu_model}"}),
              ElementsAre("train", "--model=some/folder", "4x64", "1e-05", "7", "/run/output",
                          "/run/job.json", "2", "4711", "true", ""));
}

TEST(CommandStack, LeavesBracesAloneThatEncloseNoName) {
  EXPECT_THAT(words_of({"t", R"({"lr": 1})", "{", "}", "{}", "{ batch_size }", "{{batch_size}}",
                        "a{b", "${HOME}"}),
              ElementsAre("t", R"({"lr": 1})", "{", "}", "{}", "{ batch_size }", "{batch_size}",
                          "a{b", "${HOME}"));
}

TEST(CommandStack, RefusesWhatMeansNothing) {
  EXPECT_THAT(refusal_of({"t", "--b={batch_sise}"}),
              testing::AllOf(HasSubstr("unknown placeholder '{batch_sise}' in '--b={batch_sise}'"),
                             HasSubstr("did you mean 'batch_size'")));
  EXPECT_THAT(refusal_of({}), HasSubstr("-- PROGRAM"));
  EXPECT_THAT(refusal_of({""}), HasSubstr("-- PROGRAM"));
  EXPECT_EQ(refusal_of({"t"}), "");
}

TEST(CommandStack, AnEditedScriptIsAnotherTrainer) {
  const TemporaryFolder folder;
  const std::string script = (folder.path() / "train.py").string();
  write_file_atomically(script, "one");
  const std::string before = make_command_stack({"python3", script})->version();
  EXPECT_EQ(make_command_stack({"python3", script})->version(), before);
  EXPECT_NE(make_command_stack({"python3", script, "--fast"})->version(), before);
  write_file_atomically(script, "two");
  EXPECT_NE(make_command_stack({"python3", script})->version(), before);
}

TEST(CommandStack, MustRunOnTheDeviceThatWasAskedFor) {
  const auto stack = make_command_stack({"t"});
  EXPECT_EQ(stack->expected(test_point({})).device, "cpu");
  EXPECT_EQ(stack->expected(test_point({{"number_gpus", 2}})).device, "cuda");
  EXPECT_EQ(stack->expected(test_point({})).ranks, 0) << "it knows itself how many it starts";
}

}  // namespace
}  // namespace tunebench::outside
