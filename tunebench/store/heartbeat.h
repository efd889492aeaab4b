#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tunebench::store {

/// How long a run counts as alive after it was last heard of; also its claims. A dead run becomes
/// interrupted this long after its last beat at the latest.
inline constexpr std::chrono::seconds kLease{30};
/// How often it speaks: several beats may fail before the lease is over.
inline constexpr std::chrono::seconds kBeat{6};

/// Keeps a run alive from a thread and a connection of its own, until it is destroyed. The first
/// beat is made at once. A store that is locked or away is tried again until it is back. Members
/// may be called from any thread. Never throws after construction.
class Heartbeat {
 public:
  /// location: as given to open_store.
  Heartbeat(std::string location, std::string run, std::chrono::milliseconds every = kBeat);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// The run was taken for dead or belongs to another process now: others may measure its points.
  /// It stays so; the thread has ended.
  [[nodiscard]] bool lost() const { return lost_; }
  /// Somebody asks the run to stop.
  [[nodiscard]] bool stop_requested() const { return stop_requested_; }
  /// Beats that the store has taken.
  [[nodiscard]] std::int64_t beats() const { return beats_; }

 private:
  void beat_until_ended();
  bool wait(std::chrono::milliseconds duration);

  std::string location_;
  std::string run_;
  std::chrono::milliseconds every_;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<std::int64_t> beats_ = 0;
  std::mutex guard_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::thread thread_;  // last, as it uses all of the above
};

}  // namespace tunebench::store
