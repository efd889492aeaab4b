#include "bench/counters.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <sys/resource.h>

namespace {

std::atomic<std::int64_t> allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

// The array and nothrow forms call these.
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace tunebench::bench {
namespace {

rusage usage() {
  rusage result{};
  getrusage(RUSAGE_SELF, &result);
  return result;
}

}  // namespace

std::int64_t allocations_so_far() {
  return allocations.load(std::memory_order_relaxed);
}

std::int64_t page_faults_so_far() {
  return usage().ru_minflt;
}

std::int64_t peak_resident_bytes() {
  return std::int64_t{1024} * usage().ru_maxrss;
}

}  // namespace tunebench::bench
