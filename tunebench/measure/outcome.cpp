#include "tunebench/measure/outcome.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/measure/error_line.h"
#include "tunebench/measure/known_failures.h"
#include "tunebench/measure/log_tail.h"

namespace tunebench::measure {
namespace {

using record::Outcome;

constexpr std::size_t kLongestReason = 300;

std::string where(const RunEnd& run, const Tally& tally) {
  if (tally.steps() > 0 || run.phase == "train") {
    return fmt::format("in step {}", tally.steps() + 1);
  }
  return run.phase.empty() ? "before its first event" : fmt::format("in phase {}", run.phase);
}

std::string after(const Tally& tally) {
  return tally.steps() == 0 ? std::string("before its first step")
                            : fmt::format("after step {}", tally.steps());
}

std::string with_log(std::string reason, const RunEnd& run) {
  const std::string line = last_lines(run.log_end, 1);
  return line.empty() ? reason : reason + ": " + line;
}

std::string_view signal_meaning(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGABRT:
      return "abort";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic error";
    case SIGILL:
      return "illegal instruction";
    default:
      return "";
  }
}

Verdict judge_error(const trainer::ErrorEvent& error) {
  std::string reason = error.message.empty()
                           ? fmt::format("the trainer told an error of kind '{}'", error.kind)
                           : error.message;
  const std::optional<Outcome> kind = record::find_outcome(error.kind);
  if (!kind.has_value() || *kind == Outcome::Ok || *kind == Outcome::Skipped) {
    return {Outcome::Crashed, std::move(reason)};
  }
  return {*kind, std::move(reason)};
}

Verdict judge_signal(const RunEnd& run, const Tally& tally) {
  const int signal = run.exit.signal;
  if (signal == SIGKILL && run.memory_killer) {
    return {Outcome::OomHost,
            fmt::format("killed by the system's memory killer (signal 9, memory limit of the "
                        "cgroup) {}",
                        where(run, tally))};
  }
  if (signal == SIGKILL) {
    return {Outcome::Killed, fmt::format("killed by signal 9 (often the host's memory killer) {}",
                                         where(run, tally))};
  }
  const std::string_view meaning = signal_meaning(signal);
  if (meaning.empty()) {
    return {Outcome::Killed, fmt::format("killed by signal {} {}", signal, where(run, tally))};
  }
  return {
      Outcome::Crashed,
      with_log(fmt::format("ended by signal {} ({}) {}", signal, meaning, where(run, tally)), run)};
}

/// The child ended by itself, and badly.
Verdict judge_bad_exit(const RunEnd& run, const Tally& tally) {
  const std::optional<FoundFailure> known = find_known_failure(run.log_end);
  if (known.has_value()) {
    // A launcher ends with a code of its own when one of its processes is killed.
    const bool memory = known->outcome == Outcome::Killed && run.memory_killer;
    return {memory ? Outcome::OomHost : known->outcome,
            fmt::format(
                "{}{} {}",
                memory ? "the system's memory killer struck (memory limit of the cgroup): " : "",
                known->line, where(run, tally))};
  }
  if (run.exit.signal != 0) {
    return judge_signal(run, tally);
  }
  const std::string error = error_line(run.log_end);
  if (const std::optional<FoundFailure> found =
          find_known_error(error.empty() ? last_lines(run.log_end, 1) : error)) {
    return {found->outcome,
            fmt::format("{} {}", excerpt(found->line, kLongestReason), where(run, tally))};
  }
  std::string reason = fmt::format("exit code {} {}", run.exit.code, where(run, tally));
  return {Outcome::Crashed, error.empty()
                                ? with_log(std::move(reason), run)
                                : fmt::format("{}: {}", reason, excerpt(error, kLongestReason))};
}

/// "rank 1 of 2 told nothing", "no process told anything".
std::string silent_ranks(const RunEnd& run) {
  const std::int64_t world = std::max(run.expected.ranks, run.ranks.world);
  if (run.ranks.told.empty() && run.ranks.stepped.empty()) {
    return "no process has begun to train";
  }
  std::vector<std::string> missing;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    if (!run.ranks.stepped.contains(rank)) {
      missing.push_back(std::to_string(rank));
    }
  }
  return fmt::format("no first step of rank {} of {}", join(missing, ", "), world);
}

/// Exit code 0 proves nothing: a run is ok only when it was the one that was asked for.
Verdict judge_expectations(const RunEnd& run, const Tally& tally) {
  if (run.expected.ranks > 0 && run.ranks.world != run.expected.ranks) {
    return {Outcome::Crashed, fmt::format("{} processes were asked for, {} trained",
                                          run.expected.ranks, run.ranks.world)};
  }
  for (const auto& [rank, device] : run.ranks.devices) {
    if (!run.expected.device.empty() && !device.empty() && device != run.expected.device) {
      return {Outcome::Cuda, fmt::format("asked for {}, but rank {} trained on {}",
                                         run.expected.device, rank, printable(device))};
    }
  }
  if (tally.totals().tokens_trained == 0) {
    return {Outcome::InvalidConfig,
            fmt::format("no token was trained in {} steps: every label is masked (does the data "
                        "hold the response template?)",
                        tally.steps())};
  }
  if (tally.zero_losses() == tally.steps()) {
    return {
        Outcome::Crashed,
        fmt::format("the loss is exactly 0 in all {} steps: nothing was trained", tally.steps())};
  }
  return {};
}

/// The child ended well: whether what it told is a measurement.
Verdict judge_events(const RunEnd& run, const Tally& tally) {
  if (tally.steps() == 0) {
    return {Outcome::Crashed,
            run.dropped_lines == 0
                ? std::string("ended without a single step")
                : fmt::format("ended without a single step ({} lines were no events)",
                              run.dropped_lines)};
  }
  if (!tally.contradiction().empty()) {
    return {Outcome::Crashed, "the trainer's counts contradict: " + tally.contradiction()};
  }
  if (tally.nonfinite_steps() > 0) {
    return {Outcome::Crashed,
            fmt::format("{} is not finite in step {} ({} of {} steps)", tally.nonfinite_what(),
                        tally.first_nonfinite(), tally.nonfinite_steps(), tally.steps())};
  }
  if (run.max_steps > 0 && !run.interrupted && tally.steps() != run.max_steps) {
    return {Outcome::Crashed, fmt::format("ended after {} steps, max_steps asks for {}",
                                          tally.steps(), run.max_steps)};
  }
  return judge_expectations(run, tally);
}

}  // namespace

ExitStatus unwrap_shell_code(ExitStatus exit) {
  static constexpr int kSignals[] = {SIGHUP, SIGINT,  SIGILL,  SIGABRT, SIGBUS,
                                     SIGFPE, SIGKILL, SIGSEGV, SIGTERM};
  for (const int signal : kSignals) {
    if (exit.signal == 0 && exit.code == 128 + signal) {
      exit.signal = signal;
      exit.code = 0;
    }
  }
  return exit;
}

Verdict judge(const RunEnd& run, const Tally& tally) {
  if (run.killed == KilledFor::Timeout) {
    return {Outcome::Timeout, fmt::format("took longer than {}, killed {}",
                                          format_duration(run.timeout_s), where(run, tally))};
  }
  if (run.killed == KilledFor::Stalled) {
    return {Outcome::Timeout, fmt::format("no step for {}, killed {}",
                                          format_duration(run.stalled_s), where(run, tally))};
  }
  if (run.killed == KilledFor::Silent) {
    return {Outcome::Timeout, fmt::format("{} for {}, killed {}", silent_ranks(run),
                                          format_duration(run.stalled_s), where(run, tally))};
  }
  if (run.error.has_value()) {
    return judge_error(*run.error);
  }
  if (run.interrupted && !run.enough) {
    return {Outcome::Interrupted, "interrupted " + after(tally)};
  }
  if (run.killed == KilledFor::Overdue && run.end.has_value()) {
    return {Outcome::Crashed, "told its end but did not exit, killed"};
  }
  if (run.killed != KilledFor::Nothing && run.enough) {
    return judge_events(run, tally);
  }
  if (run.killed == KilledFor::Overdue) {
    return {Outcome::Crashed,
            fmt::format("closed its events {} but did not exit, killed", after(tally))};
  }
  if (!run.exit.ok()) {
    return judge_bad_exit(run, tally);
  }
  if (!run.end.has_value()) {
    return {
        Outcome::Crashed,
        with_log(fmt::format("ended with exit code 0 but without an end event {}", after(tally)),
                 run)};
  }
  if (run.end->status != "ok") {
    return {Outcome::Crashed, fmt::format("the trainer ended with status '{}' {}",
                                          printable(run.end->status), after(tally))};
  }
  return judge_events(run, tally);
}

}  // namespace tunebench::measure
