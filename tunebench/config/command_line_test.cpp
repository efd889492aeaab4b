#include "tunebench/config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CommandSpec run_command() {
  return {.name = "run",
          .summary = "measures",
          .arguments = {},
          .options = {{.name = "model_name",
                       .aliases = {"-m", "--model"},
                       .value_name = "NAME",
                       .help = "the model"},
                      {.name = "batch_size",
                       .aliases = {"-b", "--batch"},
                       .value_name = "N",
                       .help = "samples",
                       .group = "inputs"},
                      {.name = "max_steps", .value_name = "N", .help = "steps"},
                      {.name = "fresh", .takes_value = false, .help = "again"}},
          .examples = {"tunebench run -m tiny"}};
}

CommandSpec import_command() {
  return {.name = "models import",
          .summary = "imports",
          .arguments = {{"FILE", "what"}, {"DIR", "where"}},
          .options = {{.name = "quiet", .takes_value = false, .help = "no talk"}}};
}

std::vector<std::string> lines(const Diagnostics& problems) {
  std::vector<std::string> result;
  for (const Diagnostic& problem : problems) {
    result.push_back(problem.line());
  }
  return result;
}

CommandLine parse(const CommandSpec& command, std::vector<std::string> words,
                  Diagnostics& problems) {
  return parse_command_line(command, words, problems);
}

CommandLine parse_good(const CommandSpec& command, std::vector<std::string> words) {
  Diagnostics problems;
  CommandLine line = parse_command_line(command, words, problems);
  EXPECT_THAT(lines(problems), IsEmpty());
  return line;
}

TEST(CommandLine, TakesLongShortDashedAndUnderscoredNames) {
  for (const std::string name : {"--model-name", "--model_name", "--model", "-m"}) {
    EXPECT_EQ(parse_good(run_command(), {name, "tiny"}).value("model_name"), "tiny") << name;
  }
  EXPECT_EQ(parse_good(run_command(), {"--model_name=tiny"}).value("model_name"), "tiny");
  EXPECT_EQ(parse_good(run_command(), {"-b4"}).value("batch_size"), "4");
}

TEST(CommandLine, KeepsUnderscoresOfValues) {
  EXPECT_EQ(parse_good(run_command(), {"--model=my_model"}).value("model_name"), "my_model");
  EXPECT_EQ(parse_good(run_command(), {"--model", "a=b_c"}).value("model_name"), "a=b_c");
}

TEST(CommandLine, TakesValuesThatLookLikeOptions) {
  EXPECT_EQ(parse_good(run_command(), {"--model", "-tokens_per_s"}).value("model_name"),
            "-tokens_per_s");
  EXPECT_EQ(parse_good(run_command(), {"-m", "--x,y"}).value("model_name"), "--x,y");
}

TEST(CommandLine, RepeatableOptionsKeepAllValues) {
  CommandSpec command = run_command();
  command.options[0].repeatable = true;
  const CommandLine line = parse_good(command, {"-m", "a", "--fresh", "--model=b"});
  EXPECT_THAT(line.values("model_name"), ElementsAre("a", "b"));
  EXPECT_EQ(line.value("model_name"), "a");
  EXPECT_THAT(line.values("batch_size"), IsEmpty());
}

TEST(CommandLine, TakesNegativeBracketedAndEmptyValues) {
  EXPECT_EQ(parse_good(run_command(), {"--max-steps", "-1"}).value("max_steps"), "-1");
  EXPECT_EQ(parse_good(run_command(), {"--model", R"(["a","b"])"}).value("model_name"),
            R"(["a","b"])");
  const CommandLine line = parse_good(run_command(), {"--model=", "--fresh"});
  EXPECT_TRUE(line.has("model_name"));
  EXPECT_EQ(line.value("model_name", "x"), "");
  EXPECT_TRUE(line.has("fresh"));
}

TEST(CommandLine, RemembersHowAnOptionWasSpelled) {
  EXPECT_EQ(parse_good(run_command(), {"--batch=2"}).find("batch_size")->spelled, "--batch");
  EXPECT_EQ(parse_good(run_command(), {"-b", "2"}).find("batch_size")->spelled, "-b");
}

// CLI-02
TEST(CommandLine, ReportsAllMistakesAtOnceWithTheNearestOption) {
  Diagnostics problems;
  parse(run_command(), {"--bacth", "4", "--fersh", "-q", "--max-steps"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("--max-steps: needs a value: --max-steps N",
                                           "unknown option '--bacth' - did you mean '--batch'?",
                                           "unknown option '--fersh' - did you mean '--fresh'?",
                                           "unknown option '-q'"));
}

TEST(CommandLine, AnOptionIsNotTheValueOfTheOneBefore) {
  Diagnostics problems;
  const CommandLine line = parse(run_command(), {"--batch", "--model", "tiny"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("--batch: needs a value: --batch N"));
  EXPECT_EQ(line.value("model_name"), "tiny");
}

// CLI-02
TEST(CommandLine, RefusesAnOptionGivenTwice) {
  Diagnostics problems;
  parse(run_command(), {"--batch", "1", "-b", "2"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("--batch: given 2 times (1, 2) - give it once"));
}

TEST(CommandLine, RefusesAValueForAFlag) {
  Diagnostics problems;
  parse(run_command(), {"--fresh=yes"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("--fresh: takes no value"));
}

TEST(CommandLine, CountsArguments) {
  EXPECT_THAT(parse_good(import_command(), {"a.gguf", "--quiet", "dir"}).arguments,
              ElementsAre("a.gguf", "dir"));
  EXPECT_THAT(parse_good(import_command(), {"--", "-a.gguf", "--quiet"}).arguments,
              ElementsAre("-a.gguf", "--quiet"));
  Diagnostics problems;
  parse(import_command(), {"a.gguf"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("DIR is missing"));
  problems.clear();
  parse(run_command(), {"tiny"}, problems);
  EXPECT_THAT(lines(problems), ElementsAre("unexpected argument 'tiny'"));
}

TEST(CommandLine, HelpMissesNothing) {
  EXPECT_TRUE(parse_good(import_command(), {"--help"}).help);
  EXPECT_TRUE(parse_good(import_command(), {"-h"}).help);
}

TEST(FindCommand, TakesTheLongestName) {
  const std::vector<CommandSpec> commands{run_command(), {.name = "models"}, import_command()};
  Diagnostics problems;
  const std::vector<std::string> two{"models", "import", "x"};
  EXPECT_EQ(find_command(commands, two, problems).command->name, "models import");
  EXPECT_EQ(find_command(commands, two, problems).words, 2U);
  const std::vector<std::string> one{"models", "--json"};
  EXPECT_EQ(find_command(commands, one, problems).words, 1U);
  EXPECT_THAT(lines(problems), IsEmpty());
}

TEST(FindCommand, NamesTheNearestSecondWord) {
  const std::vector<CommandSpec> commands{run_command(), {.name = "models"}, import_command()};
  Diagnostics problems;
  const std::vector<std::string> words{"models", "imprt", "x"};
  EXPECT_EQ(find_command(commands, words, problems).command, nullptr);
  EXPECT_THAT(lines(problems),
              ElementsAre("unknown command 'models imprt' - did you mean 'import'?"));
}

TEST(ParseCommandLine, WordsAfterTwoDashesAreAProgramWhereTheCommandTakesOne) {
  CommandSpec command = run_command();
  command.words_after = "PROGRAM [ARGUMENTS]";
  Diagnostics problems;
  const std::vector<std::string> words{"--batch", "4",       "--", "python",
                                       "--batch", "{model}", "--", "-x"};
  const CommandLine line = parse_command_line(command, words, problems);
  EXPECT_THAT(lines(problems), testing::IsEmpty());
  EXPECT_EQ(line.value("batch_size"), "4");
  EXPECT_THAT(line.words_after, ElementsAre("python", "--batch", "{model}", "--", "-x"));
  EXPECT_THAT(line.arguments, testing::IsEmpty());
  EXPECT_THAT(command_help(command, 80),
              HasSubstr("usage: tunebench run [options] [-- PROGRAM [ARGUMENTS]]"));
}

TEST(FindCommand, NamesTheNearestCommand) {
  const std::vector<CommandSpec> commands{run_command(), import_command()};
  Diagnostics problems;
  const std::vector<std::string> words{"rnu"};
  EXPECT_EQ(find_command(commands, words, problems).command, nullptr);
  EXPECT_THAT(lines(problems), ElementsAre("unknown command 'rnu' - did you mean 'run'?"));
}

TEST(CommandHelp, ShowsUsageOptionsByGroupAndExamples) {
  const std::string help = command_help(run_command(), 80);
  EXPECT_THAT(help, HasSubstr("usage: tunebench run [options]"));
  EXPECT_THAT(help, HasSubstr("inputs:\n  --batch-size, -b, --batch N\n      samples\n"));
  EXPECT_THAT(help, HasSubstr("tunebench run -m tiny"));
  EXPECT_THAT(command_help(import_command(), 80), HasSubstr("tunebench models import FILE DIR"));
}

TEST(Wrap, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap("aa bb  cc", 2, 7), "aa bb\n  cc");
}

TEST(ShellLine, QuotesWhatAShellWouldSplit) {
  const std::vector<std::string> words{"run", "--model", "it's a", "", "a,b"};
  EXPECT_EQ(shell_line(words), R"(run --model 'it'\''s a' '' a,b)");
}

TEST(ParseCommandLine, OptionsAndArgumentsThatRepeat) {
  const CommandSpec command{
      .name = "run",
      .arguments = {{.name = "FILE", .required = false, .repeats = true}},
      .options = {{.name = "where", .value_name = "EXPR", .repeatable = true}, {.name = "order"}}};
  Diagnostics problems;
  const std::vector<std::string> words{"a.yaml", "--where", "a > 1", "b.yaml", "--where=b < 2"};
  const CommandLine line = parse_command_line(command, words, problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(line.options.size(), 2U);
  EXPECT_EQ(line.options[0].value, "a > 1");
  EXPECT_EQ(line.options[1].value, "b < 2");
  EXPECT_EQ(line.arguments, (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_NE(command_help(command, 80).find("tunebench run [FILE...] [options]"), std::string::npos);
}

}  // namespace
}  // namespace tunebench::config
