#include "tunebench/campaign/internal/worker.h"

#include <algorithm>
#include <array>

#include "tunebench/base/error.h"
#include "tunebench/base/log.h"
#include "tunebench/campaign/internal/attempt.h"
#include "tunebench/campaign/staleness.h"

namespace tunebench::campaign {
namespace {

constexpr std::array kPauses = {std::chrono::milliseconds(500), std::chrono::milliseconds(2000)};
/// How soon an interrupt is noticed in a pause.
constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(100);
/// How often points that others hold are looked at.
constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(200);
/// Also how soon a stop is noticed that was asked for in another terminal.
constexpr std::chrono::milliseconds kHeartbeat{2000};

}  // namespace

Worker::Worker(const Plan& plan, const Tools& tools, Observer& observer)
    : plan_(plan), tools_(tools), observer_(observer) {}

store::Run Worker::begin(std::int64_t planned) {
  const store::Run run =
      tools_.resume.empty()
          ? tools_.store.begin_run(
                {.command = tools_.command,
                 .planned = planned,
                 .plan = tools_.plan_text,
                 .simulated = plan_.machine.trainer == "simulated" && plan_.machine.others.empty()})
          : tools_.store.resume_run(tools_.resume);
  result.run = run.name;
  live();
  return run;
}

void Worker::live() {
  if (!tools_.store_location.empty()) {
    heartbeat_ = std::make_unique<store::Heartbeat>(tools_.store_location, result.run, kHeartbeat);
  }
}

std::vector<store::RunRecord> Worker::records_before() const {
  return tools_.resume.empty() ? std::vector<store::RunRecord>{}
                               : tools_.store.records_of(result.run);
}

void Worker::take_back(PointState& state, const store::RunRecord& one, std::int64_t times) {
  const std::int64_t before = wanted(state, plan_, times);
  const bool was_finished = state.finished;
  const std::int64_t counted = state.counted;
  restore(state, one.record, plan_, times);
  if (state.counted > counted || state.finished != was_finished) {
    ++done_;
    left -= before - wanted(state, plan_, times);
    ++(one.reused ? result.reused : result.kept);
  }
}

void Worker::started(const store::Run& run) {
  observer_.started(run, result.reused, result.kept);
}

void Worker::find_known(const PlannedPoint& point, PointState& state,
                        std::vector<std::string>& known, std::int64_t times) {
  if (plan_.fresh || state.finished) {
    return;
  }
  const std::int64_t before = wanted(state, plan_, times);
  std::vector<record::Record> records =
      plan_.stability ? tools_.store.attempts(point.key) : tools_.store.reusable(point.key);
  result.stale.sort_out(point, plan_, tools_.store, tools_.clock.unix_seconds(), records);
  for (const record::Record& record : records) {
    if (state.finished) {
      break;
    }
    if (state.seen.insert(record.id).second) {
      known.push_back(record.id);
      ++result.reused;
      ++done_;
      count(state, record, plan_, times);
      if (collects) {
        new_records_.push_back(record);
      }
    }
  }
  left -= before - wanted(state, plan_, times);
}

void Worker::link(const std::vector<std::string>& known) {
  if (!known.empty()) {
    tools_.store.link_reused(result.run, known);
  }
}

bool Worker::knows_now(const PlannedPoint& point, PointState& state, std::int64_t times) {
  const std::int64_t counted = state.counted;
  std::vector<std::string> known;
  find_known(point, state, known, times);
  link(known);
  return state.finished || state.counted > counted;
}

bool Worker::claim(const PlannedPoint& point) {
  while (true) {
    go_on_when_lost();
    try {
      const store::Claim claim = tools_.store.claim(result.run, point.key);
      if (!claim.claimed) {
        held_by_ = claim;
      }
      return claim.claimed;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::InvalidInput) {
        throw;
      }
      // It was taken for dead since the last look.
      heartbeat_.reset();
      tools_.store.resume_run(result.run);
      live();
    }
  }
}

void Worker::go_on_when_lost() {
  if (heartbeat_ == nullptr || !heartbeat_->lost()) {
    return;
  }
  heartbeat_.reset();
  tools_.store.resume_run(result.run);
  log_info("this run was taken for dead, as after a sleep of the machine; it goes on");
  live();
}

Turn Worker::take_turn(const PlannedPoint& point, PointState& state, const Remaining& remaining,
                       std::int64_t times) {
  if (stopping()) {
    result.interrupted = true;
    return Turn::Stopped;
  }
  if (plan_.fresh) {
    return measure(point, state, remaining, times);  // others' results would not do
  }
  if (knows_now(point, state, times)) {
    return Turn::Known;
  }
  if (!claim(point)) {
    return Turn::Held;
  }
  // Whoever held it before may have measured it between the look and the claim.
  if (knows_now(point, state, times)) {
    tools_.store.release(result.run, point.key);
    return Turn::Known;
  }
  return measure(point, state, remaining, times);
}

Turn Worker::measure(const PlannedPoint& point, PointState& state, const Remaining& remaining,
                     std::int64_t times) {
  const std::int64_t attempts = plan_.stability ? 1 : kMostAttempts;
  Position position{.number = done_ + 1,
                    .total = done_ + left,
                    .point = &point,
                    .round = state.counted + 1,
                    .attempt = state.next_attempt};
  while (true) {
    const record::Record record = attempt(position, remaining);
    tools_.store.append(record);
    state.seen.insert(record.id);
    if (collects) {
      new_records_.push_back(record);
    }
    if (record.status == record::Outcome::Interrupted || tools_.stop.level.load() > 1) {
      result.interrupted = true;
    }
    const bool again = position.attempt < attempts && worth_another_try(record) && !stopping();
    observer_.measured(position, record, again);
    result.measured += record.is_valid() ? 1 : 0;
    if (!again) {
      ++done_;
      if (!result.interrupted || record.is_valid()) {
        const std::int64_t before = wanted(state, plan_, times);
        count(state, record, plan_, times);
        left -= before - wanted(state, plan_, times);
      }
      return result.interrupted ? Turn::Stopped : Turn::Measured;
    }
    state.next_attempt = ++position.attempt;
    pause(kPauses[static_cast<std::size_t>(position.attempt - 2)]);
    if (stopping()) {
      result.interrupted = true;
      return Turn::Stopped;
    }
    // The failed attempt has given the point back.
    if (!plan_.fresh && !claim(point)) {
      return Turn::Held;
    }
  }
}

record::Record Worker::attempt(const Position& position, const Remaining& remaining) {
  observer_.measuring(position);
  const std::chrono::nanoseconds begin = tools_.clock.now();
  const PlannedPoint& point = *position.point;
  record::Record record =
      make_attempt(plan_, tools_, result.run, position, [&](const measure::Progress& progress) {
        stopping();
        observer_.progress(position, progress,
                           time_left_.seconds(progress.seconds_left, point, remaining()));
      });
  time_left_.add(point, tools_.clock.now() - begin);
  return record;
}

void Worker::pause(std::chrono::nanoseconds duration) {
  const std::chrono::nanoseconds until = tools_.clock.now() + duration;
  while (!stopping() && tools_.clock.now() < until) {
    tools_.clock.sleep_for(std::min(kLook, until - tools_.clock.now()));
  }
}

void Worker::wait(std::int64_t held) {
  observer_.waiting({.points = held, .run = held_by_.run, .host = held_by_.host});
  pause(kBetweenLooks);
}

bool Worker::stopping() {
  if (heartbeat_ != nullptr && heartbeat_->stop_requested()) {
    int none = 0;
    if (tools_.stop.level.compare_exchange_strong(none, 1)) {
      result.stopped_by_request = true;
    }
  }
  return tools_.stop.level.load() > 0;
}

Result Worker::end(const std::string& reason) {
  heartbeat_.reset();
  std::string kept = reason;
  if (result.interrupted) {
    kept = Json::object({{"reason", result.stopped_by_request ? "stop_requested" : "interrupted"},
                         {"text", result.stopped_by_request ? "tunebench stop asked for it"
                                                            : "a signal or ctrl-C"}})
               .dump();
  }
  tools_.store.end_run(result.run, result.interrupted ? "interrupted" : "finished", kept);
  return result;
}

}  // namespace tunebench::campaign
