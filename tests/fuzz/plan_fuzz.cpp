#include <cstddef>
#include <cstdint>
#include <string_view>

#include "targets.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are the text
  tunebench::fuzz::try_plan({reinterpret_cast<const char*>(data), size});
  return 0;
}
