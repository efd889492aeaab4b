#include "tunebench/trainer/process_memory.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/text.h"

namespace tunebench::trainer {

std::int64_t peak_resident_bytes(std::string_view status) {
  static constexpr std::string_view kKey = "VmHWM:";
  for (const std::string& line : split(status, '\n')) {
    if (!line.starts_with(kKey)) {
      continue;
    }
    std::string_view rest = trim(std::string_view(line).substr(kKey.size()));
    if (!rest.ends_with(" kB")) {
      return 0;
    }
    rest.remove_suffix(3);
    return parse_int(trim(rest)).value_or(0) * 1024;
  }
  return 0;
}

std::int64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  return peak_resident_bytes(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

}  // namespace tunebench::trainer
