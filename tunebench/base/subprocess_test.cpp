#include "tunebench/base/subprocess.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class SubprocessTest : public testing::Test {
 protected:
  ChildSpec shell(const std::string& script) const {
    ChildSpec spec;
    spec.argv = {"sh", "-c", script};
    spec.log_file = log_file();
    return spec;
  }
  [[nodiscard]] std::filesystem::path log_file() const { return folder_.path() / "log"; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] std::string log() const { return read_file(log_file()); }

  static ExitStatus finish(const ChildSpec& spec) {
    Child child = Child::start(spec);
    const std::optional<ExitStatus> status = child.wait_for(60s);
    if (!status) {
      throw Error(ErrorCode::Internal, "the child did not end");
    }
    return *status;
  }

  static std::string refusal(const ChildSpec& spec, ErrorCode code) {
    try {
      static_cast<void>(Child::start(spec));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.message();
    }
    return "started";
  }

  /// Waits until the process is gone or a zombie nobody waited for.
  static bool ends(pid_t pid) {
    for (int i = 0; i < 6000; ++i) {
      if (::kill(pid, 0) != 0) {
        return true;
      }
      const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
      if (stat.substr(stat.rfind(')') + 2, 1) == "Z") {
        return true;
      }
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  /// The number that a child wrote as the log's first line, once the line is whole.
  pid_t pid_in_log() const {
    for (int i = 0; i < 6000; ++i) {
      const std::string text = std::filesystem::exists(log_file()) ? log() : "";
      if (text.find('\n') != std::string::npos) {
        return static_cast<pid_t>(parse_int(split(text, '\n').front()).value());
      }
      std::this_thread::sleep_for(10ms);
    }
    throw Error(ErrorCode::Internal, "the child wrote nothing");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(SubprocessTest, TellsTheExitCode) {
  EXPECT_TRUE(finish(shell("exit 0")).ok());
  const ExitStatus status = finish(shell("exit 7"));
  EXPECT_EQ(status.code, 7);
  EXPECT_EQ(status.signal, 0);
  EXPECT_FALSE(status.ok());
}

TEST_F(SubprocessTest, TellsTheSignal) {
  const ExitStatus status = finish(shell("kill -9 $$"));
  EXPECT_EQ(status.code, 0);
  EXPECT_EQ(status.signal, SIGKILL);
}

TEST_F(SubprocessTest, TellsWhatTheChildUsed) {
  const ExitStatus status = finish(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  EXPECT_GT(status.peak_resident_bytes, 100'000);
  EXPECT_GT(status.user_s + status.system_s, 0.0);
}

TEST_F(SubprocessTest, BothOutputsAreAppendedToTheLog) {
  ASSERT_TRUE(finish(shell("echo out; echo err >&2")).ok());
  ASSERT_TRUE(finish(shell("echo again")).ok());
  EXPECT_EQ(log(), "out\nerr\nagain\n");
}

TEST_F(SubprocessTest, WithoutALogTheOutputIsDiscarded) {
  ChildSpec spec = shell("echo out && exit 3");
  spec.log_file.clear();
  EXPECT_EQ(finish(spec).code, 3);
}

TEST_F(SubprocessTest, InputIsEmpty) {
  ASSERT_TRUE(finish(shell("cat; echo end")).ok());
  EXPECT_EQ(log(), "end\n");
}

TEST_F(SubprocessTest, TheEnvironmentIsTheParentsWithAdditions) {
  ASSERT_EQ(::setenv("TB_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(::setenv("TB_TEST_CHANGED", "old", 1), 0);
  ChildSpec spec = shell("echo $TB_TEST_KEPT $TB_TEST_CHANGED $TB_TEST_NEW");
  spec.environment = {{"TB_TEST_CHANGED", "changed"}, {"TB_TEST_NEW", "a=b"}};
  ASSERT_TRUE(finish(spec).ok());
  EXPECT_EQ(log(), "kept changed a=b\n");
}

TEST_F(SubprocessTest, RunsInTheWorkingFolder) {
  ChildSpec spec = shell("pwd");
  spec.working_folder = folder();
  ASSERT_TRUE(finish(spec).ok());
  EXPECT_EQ(log(), std::filesystem::canonical(folder()).string() + "\n");
}

TEST_F(SubprocessTest, ArgumentsPassUnchanged) {
  ChildSpec spec;
  spec.argv = {"printf", "%s|", "a b", "", "$HOME", "*"};
  spec.log_file = log_file();
  ASSERT_TRUE(finish(spec).ok());
  EXPECT_EQ(log(), "a b||$HOME|*|");
}

TEST_F(SubprocessTest, PassesDescriptorsAlsoWhenTheirNumbersCross) {
  std::array<int, 2> first{};
  std::array<int, 2> second{};
  ASSERT_EQ(::pipe2(first.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(second.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::dup3(first[1], 8, O_CLOEXEC), 8);
  ASSERT_EQ(::dup3(second[1], 9, O_CLOEXEC), 9);
  ChildSpec spec = shell("echo to-first >&9; echo to-second >&8");
  spec.descriptors = {{8, 9}, {9, 8}};
  ASSERT_TRUE(finish(spec).ok());
  for (const int descriptor : {8, 9, first[1], second[1]}) {
    ::close(descriptor);
  }
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(::read(first[0], text.data(), text.size())));
  EXPECT_EQ(text, "to-first\n");
  text.resize(100);
  text.resize(static_cast<std::size_t>(::read(second[0], text.data(), text.size())));
  EXPECT_EQ(text, "to-second\n");
  ::close(first[0]);
  ::close(second[0]);
}

TEST_F(SubprocessTest, OtherOpenFilesDoNotReachTheChild) {
  const int open_without_cloexec = ::open("/dev/null", O_RDONLY);
  ASSERT_GT(open_without_cloexec, 2);
  ChildSpec spec = shell("ls /proc/self/fd | tr '\\n' ' '");
  ASSERT_TRUE(finish(spec).ok());
  EXPECT_EQ(log(), "0 1 2 3 ");  // 3 is ls reading the folder
  ::close(open_without_cloexec);
}

TEST_F(SubprocessTest, LimitsTheAddressSpace) {
  ChildSpec spec = shell("ulimit -v");
  spec.address_space_limit_bytes = std::int64_t{512} << 20U;
  ASSERT_TRUE(finish(spec).ok());
  EXPECT_EQ(log(), "524288\n");
}

TEST_F(SubprocessTest, IgnoredAndBlockedSignalsAreTheParentsAlone) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  Child child = Child::start(shell("echo $$; sleep 600"));
  std::signal(SIGTERM, before);
  static_cast<void>(pid_in_log());
  child.signal_group(SIGTERM);
  const std::optional<ExitStatus> status = child.wait_for(60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->signal, SIGTERM);
}

TEST_F(SubprocessTest, AProgramThatIsMissingIsNotFound) {
  ChildSpec spec;
  spec.argv = {"tb-no-such-program"};
  EXPECT_EQ(refusal(spec, ErrorCode::NotFound),
            "cannot start 'tb-no-such-program': no such program in PATH");
  spec.argv = {"/no/such/program"};
  EXPECT_EQ(refusal(spec, ErrorCode::NotFound),
            "cannot start '/no/such/program': No such file or directory");
}

TEST_F(SubprocessTest, AFileThatIsNoProgramIsRefused) {
  write_file_atomically(folder() / "text", "hello");
  ChildSpec spec;
  spec.argv = {(folder() / "text").string()};
  EXPECT_EQ(refusal(spec, ErrorCode::Io),
            "cannot start '" + spec.argv.front() + "': Permission denied");
}

TEST_F(SubprocessTest, AMissingWorkingFolderIsNamed) {
  ChildSpec spec = shell("true");
  spec.working_folder = "/no/such/folder";
  EXPECT_EQ(refusal(spec, ErrorCode::NotFound),
            "cannot start 'sh' in folder /no/such/folder: No such file or directory");
}

TEST_F(SubprocessTest, ALogThatCannotBeWrittenIsNamed) {
  ChildSpec spec = shell("true");
  spec.log_file = "/no/such/folder/log";
  EXPECT_EQ(refusal(spec, ErrorCode::Io),
            "cannot write the log /no/such/folder/log: No such file or directory");
}

TEST_F(SubprocessTest, PollDoesNotWait) {
  Child child = Child::start(shell("sleep 600"));
  EXPECT_EQ(child.poll(), std::nullopt);
  EXPECT_EQ(child.wait_for(1ms), std::nullopt);
  child.signal_group(SIGKILL);
  ASSERT_TRUE(child.wait_for(60s).has_value());
  EXPECT_TRUE(child.poll().has_value()) << "the answer stays";
  child.signal_group(SIGKILL);
}

TEST_F(SubprocessTest, TheChildGoesWithItsObject) {
  pid_t pid = -1;
  {
    const Child child = Child::start(shell("echo started; sleep 600"));
    pid = child.pid();
    EXPECT_EQ(::getpgid(pid), pid) << "a group of its own";
  }
  EXPECT_TRUE(ends(pid));
}

TEST_F(SubprocessTest, TheGroupGoesWhenTheChildEnds) {
  ASSERT_TRUE(finish(shell("sleep 600 & echo $!")).ok());
  EXPECT_TRUE(ends(pid_in_log()));
}

TEST_F(SubprocessTest, AMovedChildIsStillOne) {
  Child first = Child::start(shell("exit 4"));
  Child second = std::move(first);
  EXPECT_EQ(second.wait_for(60s)->code, 4);
}

TEST_F(SubprocessTest, TheChildDiesWithItsParent) {
  const ChildSpec spec = shell("echo $$; sleep 600");
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Child child = Child::start(spec);
    std::this_thread::sleep_for(600s);
    ::_exit(0);
  }
  ASSERT_GT(parent, 0);
  const pid_t pid = pid_in_log();
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  int word = 0;
  ASSERT_EQ(::waitpid(parent, &word, 0), parent);
  EXPECT_TRUE(ends(pid));
}

}  // namespace
}  // namespace tunebench
