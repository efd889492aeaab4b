#include "tunebench/trainer/leftovers.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include <unistd.h>

#include "tunebench/base/text.h"

namespace tunebench::trainer {
namespace {

bool has_entry(const std::filesystem::path& process, std::string_view entry) {
  std::ifstream stream(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(stream),
                                std::istreambuf_iterator<char>()};
  for (const std::string& one : split(environment, '\0')) {
    if (one == entry) {
      return true;
    }
  }
  return false;
}

}  // namespace

int kill_processes_with(std::string_view entry) {
  int killed = 0;
  std::error_code problem;
  for (std::filesystem::directory_iterator at("/proc", problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::optional<std::int64_t> number = parse_int(at->path().filename().string());
    if (!number.has_value() || *number == ::getpid() || !has_entry(at->path(), entry)) {
      continue;
    }
    killed += ::kill(static_cast<pid_t>(*number), SIGKILL) == 0 ? 1 : 0;
  }
  return killed;
}

}  // namespace tunebench::trainer
