#include "tunebench/hardware/process_tree.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include "tunebench/base/text.h"

namespace tunebench::hardware {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Fields of /proc/PID/stat after the command name, which may itself hold spaces and brackets;
/// index 0 is field 3 of proc(5).
std::vector<std::string> stat_fields(const std::filesystem::path& process) {
  const std::string line = first_line(process / "stat");
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 2 > line.size()) {
    return {};
  }
  return split(std::string_view(line).substr(end + 2), ' ');
}

std::int64_t field(const std::vector<std::string>& fields, std::size_t number) {
  const std::size_t index = number - 3;
  return index < fields.size() ? parse_int(fields[index]).value_or(0) : 0;
}

}  // namespace

std::vector<pid_t> process_tree(pid_t root, const std::filesystem::path& proc) {
  std::vector<pid_t> tree;
  std::error_code error;
  if (!std::filesystem::exists(proc / std::to_string(root), error)) {
    return tree;
  }
  tree.push_back(root);
  for (std::size_t next = 0; next < tree.size(); ++next) {
    const std::filesystem::path tasks = proc / std::to_string(tree[next]) / "task";
    for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
         task.increment(error)) {
      std::istringstream children(first_line(task->path() / "children"));
      pid_t child = 0;
      while (children >> child) {
        tree.push_back(child);
      }
    }
    error.clear();
  }
  return tree;
}

TreeUsage read_tree_usage(pid_t root, const std::filesystem::path& proc) {
  static const double kTicks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const std::int64_t kPage = sysconf(_SC_PAGESIZE);
  TreeUsage usage;
  for (const pid_t pid : process_tree(root, proc)) {
    const std::vector<std::string> fields = stat_fields(proc / std::to_string(pid));
    if (fields.empty()) {
      continue;
    }
    usage.processes += 1;
    usage.minor_faults += field(fields, 10) + field(fields, 11);
    usage.major_faults += field(fields, 12) + field(fields, 13);
    const std::int64_t ticks =
        field(fields, 14) + field(fields, 15) + field(fields, 16) + field(fields, 17);
    usage.cpu_s += static_cast<double>(ticks) / kTicks;
    usage.resident_bytes += field(fields, 24) * kPage;
  }
  return usage;
}

}  // namespace tunebench::hardware
