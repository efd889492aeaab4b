#pragma once

#include <cstdint>

namespace tunebench::bench {

/// Calls of operator new in this program so far, on all threads.
std::int64_t allocations_so_far();

/// Page faults that needed no disk, and the largest resident size, of this process so far.
std::int64_t page_faults_so_far();
std::int64_t peak_resident_bytes();

}  // namespace tunebench::bench
