#pragma once

#include <cstdint>
#include <string_view>

namespace tunebench::trainer {

/// VmHWM of /proc/<pid>/status as text: the largest resident memory, in bytes; 0 when the text does
/// not tell it.
std::int64_t peak_resident_bytes(std::string_view status);

/// Largest resident memory of this process so far.
std::int64_t peak_resident_bytes();

}  // namespace tunebench::trainer
