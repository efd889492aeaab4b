#include "tunebench/store/heartbeat.h"

#include <algorithm>
#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/run_table.h"

namespace tunebench::store {
namespace {

/// A locked store is tried again anyway, and the destructor waits for the end of an attempt.
constexpr std::chrono::milliseconds kBeatWait{2000};
constexpr std::chrono::milliseconds kAfterFailure{1000};

}  // namespace

Heartbeat::Heartbeat(std::string location, std::string run, std::chrono::milliseconds every)
    : location_(std::move(location)),
      run_(std::move(run)),
      every_(every),
      thread_([this] { beat_until_ended(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::scoped_lock lock(guard_);
    ended_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Heartbeat::beat_until_ended() {
  std::unique_ptr<Connection> connection;
  std::chrono::milliseconds pause{0};
  while (!wait(pause)) {
    try {
      if (!connection) {
        connection = open_connection(location_, OpenMode::Existing, kBeatWait);
      }
      const Beat beat = RunTable(*connection).heartbeat(run_);
      if (beat == Beat::Lost) {
        lost_ = true;
        return;
      }
      stop_requested_ = beat == Beat::StopRequested;
      ++beats_;
      pause = every_;
    } catch (const Error&) {
      connection.reset();
      pause = std::min(every_, kAfterFailure);
    }
  }
}

bool Heartbeat::wait(std::chrono::milliseconds duration) {
  std::unique_lock lock(guard_);
  return ending_.wait_for(lock, duration, [this] { return ended_; });
}

}  // namespace tunebench::store
