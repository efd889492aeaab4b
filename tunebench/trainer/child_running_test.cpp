#include "tunebench/trainer/child_running.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"

namespace tunebench::trainer {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Long enough that only a hang reaches it.
constexpr seconds kLong{60};

Job job_with_log(const std::filesystem::path& log) {
  Job job;
  job.point.experiment = "finetune_full_benchmark-v1.0.0";
  job.point.inputs = {{"batch_size", 3}};
  job.log_file = log;
  return job;
}

std::unique_ptr<Running> start(std::vector<std::string> actions,
                               const std::filesystem::path& log = {}) {
  actions.insert(actions.begin(), TB_SCRIPTED_TRAINER);
  return make_command_trainer(std::move(actions))->start(job_with_log(log));
}

std::vector<Event> all_events(Running& running) {
  std::vector<Event> events;
  while (true) {
    std::optional<Event> event = running.next_event(kLong);
    if (!event.has_value()) {
      EXPECT_TRUE(running.stream_ended());
      return events;
    }
    events.push_back(std::move(*event));
  }
}

/// False for a process that has ended but that nobody has waited for.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t behind_name = text.rfind(") ");
  return behind_name != std::string::npos && text[behind_name + 2] != 'Z';
}

bool dies(pid_t pid) {
  for (int i = 0; i < 3000 && is_alive(pid); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  return !is_alive(pid);
}

TEST(CommandTrainerTest, RefusesAnEmptyCommand) {
  EXPECT_THROW(make_command_trainer({}), Error);
  EXPECT_THROW(make_command_trainer({""}), Error);
}

TEST(CommandTrainerTest, NamesAProgramThatDoesNotExist) {
  try {
    make_command_trainer({"/nowhere/trainer"})->start(job_with_log({}));
    FAIL() << "a missing program was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.message(), testing::HasSubstr("/nowhere/trainer"));
  }
}

TEST(CommandTrainerTest, PassesTheJobAndKeepsTheOutputInANewFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "logs" / "1.log";
  const std::unique_ptr<Running> running = start({"job", "log:second line"}, log);
  EXPECT_TRUE(running->wait(kLong).ok());
  const std::vector<std::string> lines = split(read_file(log), '\n');
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(Json::parse(lines[0], "job").at("inputs").at("batch_size").as_int(), 3);
  EXPECT_EQ(lines[1], "second line");
}

TEST(ChildRunningTest, GivesAllEventsInOrderAndThenTheEndOfTheStream) {
  const std::unique_ptr<Running> running =
      start({"hello", "phase:load", "phase:train", "us:100", "steps:3", "end"});
  const std::vector<Event> events = all_events(*running);
  ASSERT_EQ(events.size(), 7U);
  EXPECT_EQ(std::get<HelloEvent>(events[0]).trainer, "scripted");
  EXPECT_EQ(std::get<PhaseEvent>(events[2]).name, "train");
  EXPECT_EQ(std::get<StepEvent>(events[5]).n, 3);
  EXPECT_EQ(std::get<EndEvent>(events[6]).steps, 3);
  EXPECT_TRUE(running->wait(kLong).ok());
}

TEST(ChildRunningTest, GivesNothingWithinTheTimeWhenTheChildIsSilent) {
  const std::unique_ptr<Running> running = start({"hang"});
  EXPECT_FALSE(running->next_event(milliseconds(5)).has_value());
  EXPECT_FALSE(running->next_event(nanoseconds(0)).has_value());
  EXPECT_FALSE(running->stream_ended());
}

TEST(ChildRunningTest, DropsALastLineThatWasCutShort) {
  const std::unique_ptr<Running> running =
      start({"phase:train", "cut:{\"event\":\"phase\",\"na", "signal:9"});
  EXPECT_EQ(all_events(*running).size(), 1U);
  EXPECT_EQ(running->dropped_lines(), 1);
  EXPECT_EQ(running->wait(kLong).signal, SIGKILL);
}

TEST(ChildRunningTest, EndsTheStreamWhenTheChildIsGoneThoughAnotherHoldsThePipe) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  const std::unique_ptr<Running> running =
      start({"phase:train", "leave-child", "us:100", "steps:1", "exit:0"}, log);
  EXPECT_EQ(all_events(*running).size(), 2U);
  const std::optional<std::int64_t> left = parse_int(trim(read_file(log)));
  ASSERT_TRUE(left.has_value());
  EXPECT_TRUE(dies(static_cast<pid_t>(*left)));
}

TEST(ChildRunningTest, StopsAChildThatListensAfterItsRunningStep) {
  const std::unique_ptr<Running> running = start({"us:100", "until-stop", "end"});
  ASSERT_TRUE(running->next_event(kLong).has_value());
  running->request_stop();
  running->request_stop();
  const std::vector<Event> events = all_events(*running);
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(std::holds_alternative<EndEvent>(events.back()));
  EXPECT_TRUE(running->wait(kLong).ok());
}

TEST(ChildRunningTest, TakesAStopForAChildThatIsGone) {
  const std::unique_ptr<Running> running = start({"exit:0"});
  EXPECT_TRUE(running->wait(kLong).ok());
  running->request_stop();
  running->kill();
}

TEST(ChildRunningTest, WaitsForAChildWhoseEventsNobodyHasRead) {
  const std::unique_ptr<Running> running = start({"us:0", "steps:2000", "end"});
  EXPECT_TRUE(running->wait(kLong).ok());
  EXPECT_EQ(all_events(*running).size(), 2001U);
}

TEST(ChildRunningTest, KillsAChildThatStaysBeyondTheTime) {
  const std::unique_ptr<Running> running = start({"hang"});
  EXPECT_EQ(running->wait(milliseconds(20)).signal, SIGKILL);
}

TEST(ChildRunningTest, KillsTheWholeGroup) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  const std::unique_ptr<Running> running = start({"leave-child", "phase:train", "hang"}, log);
  ASSERT_TRUE(running->next_event(kLong).has_value());
  const std::optional<std::int64_t> other = parse_int(trim(read_file(log)));
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(is_alive(static_cast<pid_t>(*other)));
  running->kill();
  EXPECT_EQ(running->wait(kLong).signal, SIGKILL);
  EXPECT_TRUE(dies(static_cast<pid_t>(*other)));
}

/// The controller is a process of its own here, killed so that none of its code runs any more.
TEST(ChildRunningTest, LeavesNoOrphanWhenTheControllerIsKilled) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t controller = ::fork();
  if (controller == 0) {
    const std::unique_ptr<Running> running = start({"hello", "hang"});
    const std::optional<Event> hello = running->next_event(kLong);
    const auto pid =
        hello.has_value() ? static_cast<pid_t>(std::get<HelloEvent>(*hello).pid) : pid_t{-1};
    static_cast<void>(::write(ends[1], &pid, sizeof pid));
    while (true) {
      ::pause();
    }
  }
  pid_t trainer = -1;
  ASSERT_EQ(::read(ends[0], &trainer, sizeof trainer), static_cast<ssize_t>(sizeof trainer));
  ASSERT_GT(trainer, 0);
  EXPECT_TRUE(is_alive(trainer));
  ::kill(controller, SIGKILL);
  ::waitpid(controller, nullptr, 0);
  EXPECT_TRUE(dies(trainer));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tunebench::trainer
