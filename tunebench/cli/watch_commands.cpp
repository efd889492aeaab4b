#include <algorithm>
#include <map>
#include <ostream>
#include <thread>

#include <fmt/core.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/measuring.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

constexpr std::chrono::milliseconds kBetweenStates{500};
/// Without a terminal a line that says nothing new is left out for so long.
constexpr std::chrono::seconds kBetweenPlainLines{30};

/// A run as it is now.
struct State {
  store::Run run;
  std::vector<std::string> points;  ///< that it measures now
  std::int64_t silent_s = -1;       ///< since its last heartbeat; below 0: it never had one
  [[nodiscard]] std::int64_t done() const { return run.valid + run.failed + run.reused; }
};

State state_of(const store::Store& store, const std::string& name) {
  State state{.run = store.find_run(name)};
  std::map<std::string, std::string> titles;
  if (!state.run.plan.empty()) {
    titles = campaign::stored_plan(state.run).titles;
  }
  for (const std::string& key : store.claims(state.run.name)) {
    const auto title = titles.find(key);
    if (title != titles.end() && !title->second.empty()) {
      state.points.push_back(title->second);
    }
  }
  if (state.run.heartbeat > 0) {
    state.silent_s = std::max<std::int64_t>(
        0, system_clock().unix_seconds() + store::kLease.count() - state.run.heartbeat);
  }
  return state;
}

/// "brisk-otter  running  7/12 done, 1 failed  now: batch=4  heartbeat 2 s ago".
std::string line_of(const State& state, bool heartbeat) {
  std::string text = fmt::format(
      "{}  {}  {}/{} done", state.run.name,
      state.run.stop_requested && state.run.status == "running" ? "stopping" : state.run.status,
      state.done(), state.run.planned);
  if (state.run.failed > 0) {
    text += fmt::format(", {} failed", state.run.failed);
  }
  if (!state.points.empty()) {
    text += "  now: " + printable(join(state.points, ", "));
  }
  if (heartbeat && state.silent_s >= 0 && state.run.status == "running") {
    text += fmt::format("  heartbeat {} s ago", state.silent_s);
  }
  return text;
}

void mark_dead(const std::string& location) {
  try {
    store::open_store(location, store::OpenMode::Existing)->mark_dead_runs();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io) {
      throw;
    }
    // A store that may only be read is shown as it is.
  }
}

Json state_json(const State& state) {
  Json points = Json::array();
  for (const std::string& point : state.points) {
    points.push_back(point);
  }
  return Json::object({{"run", state.run.name},
                       {"status", state.run.status},
                       {"done", state.done()},
                       {"planned", state.run.planned},
                       {"failed", state.run.failed},
                       {"points", std::move(points)},
                       {"heartbeat_s", state.silent_s < 0 ? Json() : Json(state.silent_s)}});
}

/// Shows a run until it ends; the last state.
class Watch {
 public:
  Watch(Console& console, bool json) : console_(console), json_(json) {}

  State until_it_ends(const std::string& location, const std::string& reference) {
    mark_dead(location);
    const auto store = store::open_store(location, store::OpenMode::ReadOnly);
    State state = state_of(*store, reference);
    while (state.run.status == "running") {
      show(state);
      std::this_thread::sleep_for(kBetweenStates);
      mark_dead(location);
      state = state_of(*store, state.run.name);
    }
    if (console_.live) {
      console_.err << "\r\x1b[K";
    }
    return state;
  }

 private:
  void show(const State& state) {
    if (console_.live && !json_) {
      console_.err << "\r" << line_of(state, true).substr(0, console_.width - 1) << "\x1b[K"
                   << std::flush;
      return;
    }
    const std::string line = line_of(state, false);
    const std::chrono::nanoseconds now = system_clock().now();
    if (line == told_ && now - told_at_ < kBetweenPlainLines) {
      return;
    }
    told_ = line;
    told_at_ = now;
    if (json_) {
      console_.out << state_json(state).dump() << "\n" << std::flush;
    } else {
      console_.err << line_of(state, true) << "\n" << std::flush;
    }
  }

  Console& console_;
  bool json_;
  std::string told_;
  std::chrono::nanoseconds told_at_{};
};

int watch(const Invocation& invocation, Console& console) {
  const std::string location = store::default_store_location(invocation.line.value("store"));
  const State state = Watch(console, invocation.json())
                          .until_it_ends(location, invocation.line.argument(0).value_or("@last"));
  const auto store = store::open_store(location, store::OpenMode::ReadOnly);
  write_result(console,
               invocation.json() ? state_json(state).dump() + "\n" : line_of(state, false) + "\n");
  return exit_code_of(state.run, store->records_of(state.run.name));
}

int stop(const Invocation& invocation, Console& console) {
  const std::string location = store::default_store_location(invocation.line.value("store"));
  const auto store = store::open_store(location, store::OpenMode::Existing);
  static_cast<void>(store->mark_dead_runs());
  const store::Run run = store->find_run(*invocation.line.argument(0));
  store->request_stop(run.name);
  if (invocation.json()) {
    write_result(console,
                 Json::object({{"run", run.name}, {"stop_requested", true}}).dump() + "\n");
    return kOk;
  }
  write_result(console, fmt::format("{} on {} was asked to stop; it ends within seconds. "
                                    "Continue: tunebench resume {}\n",
                                    run.name, printable(run.host), run.name));
  return kOk;
}

}  // namespace

Command watch_command() {
  return {
      {.name = "watch",
       .summary = "show a run until it ends, wherever it runs; the exit code is that of the run",
       .details = "On a terminal one line that changes, else a line when something changed.",
       .arguments = {{"RUN", "name, the beginning of one, @last (default) or a tag", false}},
       .options = {store_option(), json_option()},
       .examples = {"tunebench watch", "tunebench watch brisk-otter"}},
      watch};
}

Command stop_command() {
  return {{.name = "stop",
           .summary = "ask a run to end after its running step, wherever it runs, as ctrl-C does",
           .arguments = {{"RUN", "name, the beginning of one, @last or a tag", true}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench stop brisk-otter"}},
          stop};
}

}  // namespace tunebench::cli
