#include "tunebench/store/internal/process.h"

#include <array>
#include <vector>

#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::store {
namespace {

/// Places in /proc/PID/stat after the name, which is in parentheses and may hold anything.
/// Source: proc(5), fields 3 and 22.
constexpr std::size_t kState = 0;
constexpr std::size_t kStartTime = 19;

std::string text_of(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::optional<std::string> process_start(std::int64_t pid, const std::filesystem::path& root) {
  const std::string stat = text_of(root / "proc" / std::to_string(pid) / "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  const std::vector<std::string> fields =
      split(trim(std::string_view(stat).substr(name_end + 1)), ' ');
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X") {
    return std::nullopt;
  }
  const std::string boot = text_of(root / "proc/sys/kernel/random/boot_id");
  return std::string(trim(boot)) + ":" + fields[kStartTime];
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return "unknown";
  }
  return name.data();
}

}  // namespace tunebench::store
