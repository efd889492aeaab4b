#include "tunebench/hardware/host.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/hardware/internal/system_files.h"

namespace tunebench::hardware {
namespace {

constexpr const char* kUnknown = "unknown";

/// "24683584 kB" to bytes.
std::int64_t kilobytes(const std::optional<std::string>& text) {
  if (!text) {
    return 0;
  }
  return parse_int(split(*text, ' ').front()).value_or(0) * 1024;
}

std::string first_line_or_unknown(const std::filesystem::path& file) {
  const std::string line(trim(text_of(file)));
  return line.empty() ? kUnknown : line;
}

std::string single_spaced(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  return join(words, " ");
}

std::string os_name(const std::filesystem::path& root) {
  std::string name = value_of(text_of(root / "etc/os-release"), "PRETTY_NAME", '=').value_or("");
  std::erase(name, '"');
  return name.empty() ? kUnknown : name;
}

std::string cpu_model(const std::string& cpuinfo) {
  // "model name" on x86; ARM machines name no model, so the kind of processor has to do.
  if (const std::optional<std::string> model = value_of(cpuinfo, "model name", ':')) {
    return single_spaced(*model);
  }
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) : kUnknown;
}

int processors(const std::string& cpuinfo) {
  const std::vector<std::string> lines = split(cpuinfo, '\n');
  return static_cast<int>(std::ranges::count_if(
      lines, [](const std::string& line) { return line.starts_with("processor"); }));
}

bool has_all(const std::vector<std::string>& flags, std::initializer_list<const char*> wanted) {
  return std::ranges::all_of(
      wanted, [&flags](const char* flag) { return std::ranges::find(flags, flag) != flags.end(); });
}

void read_memory(HostInfo& host, const std::filesystem::path& root) {
  const std::string meminfo = text_of(root / "proc/meminfo");
  host.memory_total_bytes = kilobytes(value_of(meminfo, "MemTotal", ':'));
  host.memory_usable_bytes = kilobytes(value_of(meminfo, "MemAvailable", ':'));
  const MemoryGroups groups = memory_groups(root);
  host.memory_limit_bytes = groups.limit_bytes.value_or(0);
  if (groups.free_bytes) {
    host.memory_usable_bytes = std::min(host.memory_usable_bytes, *groups.free_bytes);
  }
}

std::optional<std::string_view> visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

}  // namespace

HostInfo read_host(const std::filesystem::path& root) {
  HostInfo host;
  host.hostname = first_line_or_unknown(root / "proc/sys/kernel/hostname");
  host.kernel = first_line_or_unknown(root / "proc/sys/kernel/osrelease");
  host.os = os_name(root);
  const std::string cpuinfo = text_of(root / "proc/cpuinfo");
  host.cpu_model = cpu_model(cpuinfo);
  host.cores_total = processors(cpuinfo);
  host.cores_usable = usable_cores();
  const std::vector<std::string> flags = split(value_of(cpuinfo, "flags", ':').value_or(""), ' ');
  host.avx2 = has_all(flags, {"avx2", "fma"});
  host.avx512 = has_all(flags, {"avx512f", "avx512bw", "avx512dq", "avx512vl"});
  read_memory(host, root);
  for (const Gpu& gpu : find_gpus(root, visible_devices())) {
    host.gpu_models.push_back(gpu.model);
  }
  return host;
}

Json host_json(const HostInfo& host) {
  Json::Array gpus;
  for (const std::string& model : host.gpu_models) {
    gpus.emplace_back(model);
  }
  return Json::object({{"hostname", host.hostname},
                       {"os", host.os},
                       {"kernel", host.kernel},
                       {"cpu_model", host.cpu_model},
                       {"cores_total", host.cores_total},
                       {"cores_usable", host.cores_usable},
                       {"avx2", host.avx2},
                       {"avx512", host.avx512},
                       {"memory_total_bytes", host.memory_total_bytes},
                       {"memory_limit_bytes", host.memory_limit_bytes},
                       {"memory_usable_bytes", host.memory_usable_bytes},
                       {"gpu_models", Json::array(std::move(gpus))}});
}

std::string hardware_class(const HostInfo& host, int gpus) {
  if (gpus <= 0) {
    return fmt::format("cpu:{}:{}c", host.cpu_model, host.cores_usable);
  }
  if (static_cast<std::size_t>(gpus) > host.gpu_models.size()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("number_gpus is {} but this machine has {} GPUs", gpus,
                            host.gpu_models.size()));
  }
  return fmt::format("gpu:{}:{}", host.gpu_models.front(), gpus);
}

std::optional<double> load_average(const std::filesystem::path& root) {
  return parse_real(split(text_of(root / "proc/loadavg"), ' ').front());
}

std::int64_t peak_resident_bytes(const std::filesystem::path& root) {
  const std::int64_t peak = kilobytes(value_of(text_of(root / "proc/self/status"), "VmHWM", ':'));
  if (peak > 0) {
    return peak;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

int gpu_count() {
  return static_cast<int>(find_gpus("/", visible_devices()).size());
}

}  // namespace tunebench::hardware
