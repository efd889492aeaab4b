#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace tunebench {

/// A fixed team of threads for short parallel regions (a few microseconds of overhead). The caller
/// takes part as thread 0. Regions do not nest; one region at a time.
///
/// Workers flush denormals (FTZ/DAZ), as must the caller: softmax gradients full of denormals slow
/// matrix products by up to 100 times. An exception in a worker is rethrown in the caller.
class ThreadPool {
 public:
  /// threads < 1: as many as the process may run on (affinity and cgroup quota).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;

  /// Runs body(thread) once on each thread of the team.
  template <typename Body>
  void run(Body&& body) {
    run_erased([](void* context,
                  int thread) { (*static_cast<std::remove_reference_t<Body>*>(context))(thread); },
               const_cast<void*>(static_cast<const void*>(&body)));  // NOLINT
  }

  /// Splits [0, count) into one contiguous piece per thread, cut at multiples of `grain`, and runs
  /// body(begin, end, thread) on each non-empty piece. The split depends on count, grain and
  /// size() only, so results are repeatable.
  template <typename Body>
  void for_range(std::int64_t count, std::int64_t grain, Body&& body) {
    run([&](int thread) {
      const auto [begin, end] = piece(count, grain, thread);
      if (begin < end) {
        body(begin, end, thread);
      }
    });
  }

  /// Runs body(task, thread) for each task in [0, count), handed out in order as threads get free.
  /// For tasks of unequal cost whose results do not depend on which thread runs them.
  template <typename Body>
  void for_each_task(std::int64_t count, Body&& body) {
    reset_tasks();
    run([&](int thread) {
      for (std::int64_t task = next_task(); task < count; task = next_task()) {
        body(task, thread);
      }
    });
  }

 private:
  struct State;
  struct Piece {
    std::int64_t begin;
    std::int64_t end;
  };
  void run_erased(void (*body)(void*, int), void* context);
  [[nodiscard]] Piece piece(std::int64_t count, std::int64_t grain, int thread) const;
  void reset_tasks();
  std::int64_t next_task();
  std::unique_ptr<State> state_;
};

/// CPUs' worth of time that the control groups of this process allow; nullopt without a limit.
std::optional<double> cpu_quota_cores();

/// Cores this process may use at once: the smaller of its affinity mask and its cgroup CPU quota
/// (rounded up), at least 1.
int usable_cores();

/// Switches FTZ and DAZ on for the calling thread.
void flush_denormals_in_this_thread();

}  // namespace tunebench
