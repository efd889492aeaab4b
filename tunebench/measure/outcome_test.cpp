#include "tunebench/measure/outcome.h"

#include <cmath>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

using record::Outcome;

trainer::StepEvent step(std::int64_t n, double loss = 2.0) {
  trainer::StepEvent event;
  event.n = n;
  event.t0 = n * 1000;
  event.t1 = n * 1000 + 900;
  event.samples = event.tokens = event.tokens_nonpad = event.tokens_trained = 1;
  event.loss = loss;
  return event;
}

Tally steps(std::int64_t count) {
  Tally tally{experiment::Point{}};
  for (std::int64_t n = 1; n <= count; ++n) {
    tally.add(step(n));
  }
  return tally;
}

RunEnd ended_well() {
  RunEnd run;
  run.phase = "train";
  run.timeout_s = 3600;
  run.end = trainer::EndEvent{.status = "ok", .steps = 3};
  return run;
}

RunEnd ended_by(int signal, std::string log = "") {
  RunEnd run;
  run.phase = "train";
  run.exit.signal = signal;
  run.log_end = std::move(log);
  return run;
}

RunEnd ended_with(int code, std::string log = "") {
  RunEnd run;
  run.phase = "train";
  run.exit.code = code;
  run.log_end = std::move(log);
  return run;
}

void expect_verdict(const Verdict& verdict, Outcome outcome, std::string_view reason) {
  EXPECT_EQ(record::outcome_name(verdict.outcome), record::outcome_name(outcome));
  EXPECT_EQ(verdict.reason, reason);
}

TEST(OutcomeTest, IsOkWhenTheChildEndsWellWithStepsAndAnEndEvent) {
  expect_verdict(judge(ended_well(), steps(3)), Outcome::Ok, "");
}

TEST(OutcomeTest, IsNeverOkWithoutAStep) {
  expect_verdict(judge(ended_well(), steps(0)), Outcome::Crashed, "ended without a single step");
  RunEnd run = ended_well();
  run.dropped_lines = 3;
  expect_verdict(judge(run, steps(0)), Outcome::Crashed,
                 "ended without a single step (3 lines were no events)");
}

TEST(OutcomeTest, IsNeverOkWithoutAnEndEvent) {
  RunEnd run = ended_with(0, "bye\n");
  expect_verdict(judge(run, steps(3)), Outcome::Crashed,
                 "ended with exit code 0 but without an end event after step 3: bye");
}

TEST(OutcomeTest, TakesTheKindOfAnErrorEvent) {
  RunEnd run = ended_with(1, "something else\n");
  run.error = trainer::ErrorEvent{.kind = "oom_host", .message = "needs 3 GiB, has 2 GiB"};
  expect_verdict(judge(run, steps(0)), Outcome::OomHost, "needs 3 GiB, has 2 GiB");
  run.error = trainer::ErrorEvent{.kind = "invalid_config", .message = "no such model"};
  expect_verdict(judge(run, steps(0)), Outcome::InvalidConfig, "no such model");
}

TEST(OutcomeTest, DoesNotLetAnErrorEventBeASuccess) {
  for (const char* kind : {"ok", "skipped", "strange"}) {
    RunEnd run = ended_well();
    run.error = trainer::ErrorEvent{.kind = kind};
    expect_verdict(judge(run, steps(3)), Outcome::Crashed,
                   "the trainer told an error of kind '" + std::string(kind) + "'");
  }
}

TEST(OutcomeTest, TellsAKillFromACrash) {
  expect_verdict(judge(ended_by(SIGKILL), steps(3)), Outcome::Killed,
                 "killed by signal 9 (often the host's memory killer) in step 4");
  expect_verdict(judge(ended_by(SIGTERM), steps(3)), Outcome::Killed,
                 "killed by signal 15 in step 4");
  expect_verdict(judge(ended_by(SIGSEGV, "a\nlast words\n"), steps(3)), Outcome::Crashed,
                 "ended by signal 11 (segmentation fault) in step 4: last words");
  expect_verdict(judge(ended_by(SIGABRT), steps(0)), Outcome::Crashed,
                 "ended by signal 6 (abort) in step 1");
  expect_verdict(judge(ended_with(3), steps(3)), Outcome::Crashed, "exit code 3 in step 4");
}

TEST(OutcomeTest, TellsTheMemoryKillerWhenTheSystemCountedIt) {
  RunEnd run = ended_by(SIGKILL);
  run.memory_killer = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::OomHost);
  EXPECT_THAT(judge(run, steps(3)).reason, testing::HasSubstr("memory killer (signal 9"));
  // It struck someone else: this child was ended by its own fault.
  run = ended_by(SIGSEGV);
  run.memory_killer = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Crashed);
}

TEST(OutcomeTest, TellsTheMemoryKillerBehindALauncher) {
  RunEnd run;
  run.exit.code = 1;
  run.log_end = "failed (exitcode: -9) local_rank: 1 (pid: 4712) of binary: python3\n";
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Killed);
  run.memory_killer = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::OomHost);
  run.log_end = "ValueError: bad value\n";
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Crashed);
}

TEST(OutcomeTest, TakesAShellsCodeForTheSignalThatItStandsFor) {
  EXPECT_EQ(unwrap_shell_code({.code = 137}).signal, SIGKILL);
  EXPECT_EQ(unwrap_shell_code({.code = 137}).code, 0);
  EXPECT_EQ(unwrap_shell_code({.code = 139}).signal, SIGSEGV);
  EXPECT_EQ(unwrap_shell_code({.code = 3}).code, 3);
  EXPECT_EQ(unwrap_shell_code({.code = 255}).code, 255);
  EXPECT_EQ(unwrap_shell_code({.code = 0, .signal = SIGABRT}).signal, SIGABRT);
}

TEST(OutcomeTest, ReadsTheLogOfAnOutsideTrainerForWhatWentWrong) {
  expect_verdict(
      judge(ended_with(1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n"),
            steps(3)),
      Outcome::OomGpu,
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB. in step 4");
  EXPECT_EQ(judge(ended_with(1, "ValueError: bad value\n"), steps(0)).outcome, Outcome::Crashed);
}

TEST(OutcomeTest, DoesNotReadTheLogOfARunThatEndedWell) {
  RunEnd run = ended_well();
  run.log_end = "retrying after CUDA out of memory\n";
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Ok);
}

TEST(OutcomeTest, CallsABusyPortTransientNotAWrongConfiguration) {
  EXPECT_EQ(judge(ended_with(1,
                             "RuntimeError: The server socket has failed to bind to [::]:29500 "
                             "(errno: 98 - Address already in use).\n"),
                  steps(0))
                .outcome,
            Outcome::Io);
}

TEST(OutcomeTest, NamesTheStepOrPhaseOfATimeout) {
  RunEnd run = ended_by(SIGKILL);
  run.killed = KilledFor::Timeout;
  run.timeout_s = 600;
  expect_verdict(judge(run, steps(12)), Outcome::Timeout,
                 "took longer than 10 min 0 s, killed in step 13");
  run.phase = "load";
  EXPECT_THAT(judge(run, steps(0)).reason, testing::EndsWith("killed in phase load"));
  run.phase = "";
  EXPECT_THAT(judge(run, steps(0)).reason, testing::EndsWith("killed before its first event"));
}

TEST(OutcomeTest, IsInterruptedUnlessEnoughWasMeasured) {
  RunEnd run = ended_well();
  run.interrupted = true;
  expect_verdict(judge(run, steps(3)), Outcome::Interrupted, "interrupted after step 3");
  expect_verdict(judge(run, steps(0)), Outcome::Interrupted, "interrupted before its first step");
  run.enough = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Ok);
  run = ended_by(SIGKILL);
  run.killed = KilledFor::Interrupt;
  run.interrupted = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Interrupted);
  run.enough = true;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Ok);
}

TEST(OutcomeTest, TakesAChildThatDoesNotListenWhenEnoughWasMeasured) {
  RunEnd run = ended_by(SIGKILL);
  run.killed = KilledFor::Overdue;
  run.enough = true;
  EXPECT_EQ(judge(run, steps(30)).outcome, Outcome::Ok);
  run.enough = false;
  expect_verdict(judge(run, steps(3)), Outcome::Crashed,
                 "closed its events after step 3 but did not exit, killed");
  run.end = trainer::EndEvent{.status = "ok", .steps = 3};
  expect_verdict(judge(run, steps(3)), Outcome::Crashed, "told its end but did not exit, killed");
}

TEST(OutcomeTest, DoesNotTakeAnEndThatIsNotOkAsOne) {
  RunEnd run = ended_well();
  run.end->status = "failed";
  expect_verdict(judge(run, steps(3)), Outcome::Crashed,
                 "the trainer ended with status 'failed' after step 3");
  run = ended_well();
  run.exit.signal = SIGSEGV;
  EXPECT_EQ(judge(run, steps(3)).outcome, Outcome::Crashed);
}

TEST(OutcomeTest, IsNotASuccessWhenALossIsNotFinite) {
  Tally tally = steps(2);
  tally.add(step(3, std::nan("")));
  tally.add(step(4));
  tally.add(step(5, std::nan("")));
  expect_verdict(judge(ended_well(), tally), Outcome::Crashed,
                 "loss is not finite in step 3 (2 of 5 steps)");
}

TEST(OutcomeTest, IsNotASuccessWhenCountsContradict) {
  Tally tally = steps(2);
  tally.end({.status = "ok", .steps = 3});
  expect_verdict(
      judge(ended_well(), tally), Outcome::Crashed,
      "the trainer's counts contradict: the end event tells 3 steps, 2 step events came");
}

TEST(OutcomeTest, IsNotASuccessWhenMaxStepsAreNotReached) {
  RunEnd run = ended_well();
  run.max_steps = 5;
  expect_verdict(judge(run, steps(3)), Outcome::Crashed,
                 "ended after 3 steps, max_steps asks for 5");
  EXPECT_EQ(judge(run, steps(5)).outcome, Outcome::Ok);
}

}  // namespace
}  // namespace tunebench::measure
