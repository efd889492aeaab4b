#include "tunebench/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/internal/cpu_quota.h"

namespace tunebench {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns once `value` is no longer `old`. Regions follow each other within microseconds while a
/// model trains, so it looks for a while before it lets the system put it to sleep.
template <typename Integer>
void wait_while_equal(const std::atomic<Integer>& value, Integer old, int looks) {
  for (int i = 0; i < looks; ++i) {
    if (value.load(std::memory_order_acquire) != old) {
      return;
    }
    pause_briefly();
  }
  while (value.load(std::memory_order_acquire) == old) {
    value.wait(old, std::memory_order_acquire);
  }
}

int affinity_count() {
  // A machine may have more processors than cpu_set_t holds; the call then fails with EINVAL.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) {
      return CPU_COUNT_S(bytes, mask.data());
    }
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

struct alignas(64) ThreadPool::State {
  int size = 1;
  int looks = 0;
  std::vector<std::thread> workers;
  std::vector<std::exception_ptr> failures;  ///< one place per thread
  void (*body)(void*, int) = nullptr;
  void* context = nullptr;
  std::atomic<bool> busy = false;
  bool stop = false;
  // Written often and by different threads, hence a cache line each.
  alignas(64) std::atomic<std::uint32_t> region = 0;  ///< its number: a new one starts the workers
  alignas(64) std::atomic<std::int32_t> running = 0;  ///< workers that have not finished it
  alignas(64) std::atomic<std::int64_t> next = 0;

  void call(int thread) noexcept {
    try {
      body(context, thread);
    } catch (...) {
      failures[static_cast<std::size_t>(thread)] = std::current_exception();
    }
  }

  void work(int thread) {
    flush_denormals_in_this_thread();
    for (std::uint32_t seen = 0;; ++seen) {
      wait_while_equal(region, seen, looks);
      if (stop) {
        return;
      }
      call(thread);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        running.notify_one();
      }
    }
  }

  void start_region() {
    running.store(size - 1, std::memory_order_relaxed);
    region.fetch_add(1, std::memory_order_release);
    region.notify_all();
  }

  void end_region() {
    for (std::int32_t left = running.load(std::memory_order_acquire); left != 0;
         left = running.load(std::memory_order_acquire)) {
      wait_while_equal(running, left, looks);
    }
  }

  void stop_workers() {
    stop = true;
    start_region();
    for (std::thread& worker : workers) {
      worker.join();
    }
  }

  void rethrow_first_failure() {
    for (std::exception_ptr& failure : failures) {
      if (failure) {
        const std::exception_ptr first = failure;
        std::fill(failures.begin(), failures.end(), nullptr);
        std::rethrow_exception(first);
      }
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  const int cores = usable_cores();
  State& state = *state_;
  const int size = threads < 1 ? cores : threads;
  // With more threads than cores, a thread that looks holds up the one it looks for.
  constexpr int kLooks = 2000;
  state.looks = size <= cores ? kLooks : 0;
  state.failures.resize(static_cast<std::size_t>(size));
  try {
    for (int thread = 1; thread < size; ++thread) {
      state.workers.emplace_back([&state, thread] { state.work(thread); });
    }
  } catch (const std::system_error& error) {
    state.stop_workers();
    throw Error(ErrorCode::Io, fmt::format("cannot start {} threads: {}; ask for fewer", size,
                                           error.code().message()));
  }
  state.size = size;
}

ThreadPool::~ThreadPool() {
  state_->stop_workers();
}

int ThreadPool::size() const {
  return state_->size;
}

void ThreadPool::run_erased(void (*body)(void*, int), void* context) {
  State& state = *state_;
  TB_CHECK(!state.busy.exchange(true, std::memory_order_relaxed));
  state.body = body;
  state.context = context;
  if (state.size > 1) {
    state.start_region();
  }
  state.call(0);
  state.end_region();
  state.busy.store(false, std::memory_order_relaxed);
  state.rethrow_first_failure();
}

ThreadPool::Piece ThreadPool::piece(std::int64_t count, std::int64_t grain, int thread) const {
  const std::int64_t step = std::max<std::int64_t>(1, grain);
  const std::int64_t blocks = count <= 0 ? 0 : (count - 1) / step + 1;
  const std::int64_t threads = size();
  const std::int64_t each = blocks / threads;
  const std::int64_t longer = blocks % threads;  // the first threads take one block more
  const std::int64_t first = thread * each + std::min<std::int64_t>(thread, longer);
  const std::int64_t last = first + each + (thread < longer ? 1 : 0);
  // The last block may be a part of one; first == blocks has no work, and no overflow either.
  return {first < blocks ? first * step : count, last < blocks ? last * step : count};
}

void ThreadPool::reset_tasks() {
  state_->next.store(0, std::memory_order_relaxed);
}

std::int64_t ThreadPool::next_task() {
  return state_->next.fetch_add(1, std::memory_order_relaxed);
}

std::optional<double> cpu_quota_cores() {
  try {
    return cpu_quota("/sys/fs/cgroup", read_file("/proc/self/cgroup"));
  } catch (const Error&) {
    return std::nullopt;  // no control groups on this machine
  }
}

int usable_cores() {
  const int cores = std::max(1, affinity_count());
  const std::optional<double> quota = cpu_quota_cores();
  if (!quota || *quota >= cores) {
    return cores;
  }
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

void flush_denormals_in_this_thread() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | (std::uint64_t{1} << 24U)));
#endif
}

}  // namespace tunebench
