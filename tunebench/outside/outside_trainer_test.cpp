// Programs that write the protocol as processes of their own, with launchers that give each rank a
// session: what the controller sees, and that nothing is left.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/outside/embedded.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/test_point.h"

namespace tunebench::outside {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// Two ranks in sessions of their own, as torchrun starts them; the launcher waits for both and
/// kills the others when one fails.
constexpr const char* kLauncher = R"py(
import os, subprocess, sys, time
os.close(3); os.close(4)
ranks = [subprocess.Popen([sys.executable, sys.argv[1]], start_new_session=True,
                          env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2"))
         for rank in range(2)]
while any(one.poll() is None for one in ranks):
    for rank, one in enumerate(ranks):
        if one.poll() not in (None, 0):
            print("failed (exitcode: %d) local_rank: %d (pid: %d)" % (one.returncode, rank, one.pid), flush=True)
            if "leave" not in sys.argv:
                for other in ranks:
                    other.kill()
            sys.exit(1)
    time.sleep(0.01)
)py";

constexpr const char* kRank = R"py(
import os, signal, sys, time
import tunebench_events as told
rank = int(os.environ["RANK"])
told.hello("ranks", "1", "cpu")
told.phase("train")
print("pid %d" % os.getpid(), flush=True)
for n in range(200):
    told.begin_step()
    time.sleep(0.02)
    told.count_numbers(2, 20, 18 + rank, 16)
    if not told.end_step(loss=2.0 + rank):
        break
    if n == 2 and os.environ.get("RANK_DIES") == str(rank):
        os.kill(os.getpid(), signal.SIGKILL)
told.end()
)py";

class OutsideTrainerTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  std::unique_ptr<trainer::Running> start(const std::vector<std::string>& argv) {
    trainer_ = make_outside_trainer(make_command_stack(argv));
    trainer::Job job{.point = test_point({}), .log_file = log()};
    job.planned_steps = 200;
    return trainer_->start(job);
  }
  std::filesystem::path log() const { return folder_.path() / "log"; }
  std::string log_text() const { return is_there(log()) ? read_file(log()) : ""; }
  /// All events until the end, asking to stop after `stop_after` steps.
  static std::vector<trainer::Event> events_of(trainer::Running& running, int stop_after = 0) {
    std::vector<trainer::Event> events;
    int steps = 0;
    for (int looks = 0; !running.stream_ended() && looks < 600; ++looks) {
      while (const std::optional<trainer::Event> event =
                 running.next_event(std::chrono::milliseconds(100))) {
        events.push_back(*event);
        steps += std::holds_alternative<trainer::StepEvent>(*event) ? 1 : 0;
        if (stop_after > 0 && steps == stop_after) {
          running.request_stop();
        }
      }
    }
    return events;
  }
  static std::vector<trainer::StepEvent> steps_of(const std::vector<trainer::Event>& events) {
    std::vector<trainer::StepEvent> steps;
    for (const trainer::Event& event : events) {
      if (const auto* step = std::get_if<trainer::StepEvent>(&event)) {
        steps.push_back(*step);
      }
    }
    return steps;
  }
  /// Processes that the log names and that still run after a moment.
  int alive() const {
    for (int tries = 0;; ++tries) {
      int count = 0;
      for (const std::string& line : split(log_text(), '\n')) {
        const std::optional<std::int64_t> pid =
            line.starts_with("pid ") ? parse_int(line.substr(4)) : std::nullopt;
        count += pid.has_value() && ::kill(static_cast<pid_t>(*pid), 0) == 0 ? 1 : 0;
      }
      if (count == 0 || tries == 50) {
        return count;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<trainer::Trainer> trainer_;
};

TEST_F(OutsideTrainerTest, RanksInSessionsOfTheirOwnAreOneStreamAndStopTogether) {
  const auto running = start({"python3", write("launch.py", kLauncher), write("rank.py", kRank)});
  const std::vector<trainer::Event> events = events_of(*running, 3);
  EXPECT_EQ(running->wait(seconds(10)).code, 0) << log_text();
  const std::vector<trainer::StepEvent> steps = steps_of(events);
  ASSERT_GE(steps.size(), 3U) << log_text();
  EXPECT_LT(steps.size(), 100U) << "it was asked to stop";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].n, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(steps[i].tokens, 40);
    EXPECT_EQ(steps[i].tokens_nonpad, 37);
    EXPECT_EQ(steps[i].loss, 2.5);
  }
  ASSERT_TRUE(std::holds_alternative<trainer::EndEvent>(events.back()));
  EXPECT_EQ(std::get<trainer::EndEvent>(events.back()).steps,
            static_cast<std::int64_t>(steps.size()))
      << "both ranks ended after the same step";
  EXPECT_EQ(running->ranks().world, 2);
  EXPECT_EQ(running->dropped_lines(), 0);
}

TEST_F(OutsideTrainerTest, KillingReachesEveryRank) {
  const auto running = start({"python3", write("launch.py", kLauncher), write("rank.py", kRank)});
  while (running->ranks().stepped.size() < 2 && !running->stream_ended()) {
    running->next_event(std::chrono::milliseconds(100));
  }
  running->kill();
  EXPECT_EQ(running->wait(seconds(10)).signal, SIGKILL);
  EXPECT_EQ(alive(), 0);
}

TEST_F(OutsideTrainerTest, RanksThatALauncherLeavesBehindAreKilled) {
  ::setenv("RANK_DIES", "1", 1);
  const auto running =
      start({"python3", write("launch.py", kLauncher), write("rank.py", kRank), "leave"});
  ::unsetenv("RANK_DIES");
  const std::vector<trainer::Event> events = events_of(*running);
  EXPECT_EQ(running->wait(seconds(10)).code, 1);
  EXPECT_THAT(log_text(), HasSubstr("failed (exitcode: -9) local_rank: 1"));
  EXPECT_FALSE(std::holds_alternative<trainer::EndEvent>(events.back()));
  EXPECT_EQ(alive(), 0);
}

TEST_F(OutsideTrainerTest, ACommandFindsTheJobAndItsFolderAndLeavesNothing) {
  const std::string program = write("job.py", R"py(
import json, os, sys
import tunebench_events as told
job = json.load(open(sys.argv[1]))
assert job == json.loads(os.environ["TUNEBENCH_JOB"]) == json.load(open(os.environ["TUNEBENCH_JOB_FILE"]))
open(sys.argv[2] + "/weights", "w").write("x")
print("folder", sys.argv[2], job["inputs"]["batch_size"], os.getcwd(), flush=True)
told.hello("job", "1", "cpu"); told.begin_step(); told.count_numbers(1, 2, 2, 1); told.end_step(loss=1.0)
told.end()
)py");
  std::string output;
  {
    const auto running = start({"python3", program, "{job_file}", "{output_dir}"});
    EXPECT_EQ(steps_of(events_of(*running)).size(), 1U) << log_text();
    EXPECT_EQ(running->wait(seconds(10)).code, 0);
    const std::vector<std::string> words = split(log_text(), ' ');
    ASSERT_GE(words.size(), 4U) << log_text();
    output = words[1];
    EXPECT_TRUE(is_there(output + "/weights"));
    EXPECT_EQ(words[2], "4");
    EXPECT_EQ(trim(words[3]), std::filesystem::current_path().string());
  }
  EXPECT_FALSE(is_there(output));
}

TEST_F(OutsideTrainerTest, SecretsReachTheProgramAndNothingElse) {
  ::setenv("HF_TOKEN", "hf_planted0123456789abcdefghijklmnop", 1);
  const std::string program = write("secret.py", R"py(
import os, sys
import tunebench_events as told
assert os.environ["HF_TOKEN"].startswith("hf_planted")
told.hello("s", "1", "cpu"); told.end()
print(open("/proc/self/cmdline").read(), os.environ["TUNEBENCH_JOB"], flush=True)
)py");
  const auto running = start({"python3", program, "{model_name}"});
  events_of(*running);
  EXPECT_EQ(running->wait(seconds(10)).code, 0) << log_text();
  EXPECT_THAT(log_text(), testing::Not(HasSubstr("planted")));
  ::unsetenv("HF_TOKEN");
}

TEST(EmbeddedFiles, AreThoseOnDisk) {
  for (const char* name :
       {"python/tunebench_events.py", "python/sitecustomize.py", "python/tunebench_hf_train.py",
        "locks/hf-5.24.0.txt", "locks/fms-hf-tuning-3.2.2.txt"}) {
    const std::filesystem::path file = std::filesystem::path(TB_OUTSIDE_FOLDER) / name;
    EXPECT_EQ(embedded_file(file.filename().string()), read_file(file)) << name;
  }
}

}  // namespace
}  // namespace tunebench::outside
