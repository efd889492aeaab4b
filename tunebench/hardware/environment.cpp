#include "tunebench/hardware/environment.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/hardware/host.h"
#include "tunebench/hardware/internal/system_files.h"

namespace tunebench::hardware {
namespace {

constexpr std::array<std::string_view, 18> kVariables{
    "OMP_NUM_THREADS",      "OMP_PROC_BIND",          "OMP_PLACES",
    "MKL_NUM_THREADS",      "OPENBLAS_NUM_THREADS",   "DNNL_MAX_CPU_ISA",
    "ONEDNN_MAX_CPU_ISA",   "GOMP_CPU_AFFINITY",      "KMP_AFFINITY",
    "MALLOC_ARENA_MAX",     "CUDA_VISIBLE_DEVICES",   "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING", "NVIDIA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF",
    "NVIDIA_TF32_OVERRIDE", "TOKENIZERS_PARALLELISM", "TORCH_CUDNN_V8_API_ENABLED"};
constexpr std::array<std::string_view, 2> kPrefixes{"NCCL_", "FI_EFA_"};

bool allowed(std::string_view name) {
  return std::ranges::find(kVariables, name) != kVariables.end() ||
         std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Folders "cpu0", "node3": those whose name is `prefix` and a number.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& folder,
                                            std::string_view prefix) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && parse_int(std::string_view(name).substr(prefix.size()))) {
      found.push_back(entry->path());
    }
  }
  return found;
}

Json count_or_null(std::size_t count) {
  return count == 0 ? Json() : Json(static_cast<std::int64_t>(count));
}

void set_topology(Json& environment, const std::filesystem::path& root) {
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  for (const auto& cpu : numbered(root / "sys/devices/system/cpu", "cpu")) {
    const std::string socket(trim(text_of(cpu / "topology/physical_package_id")));
    const std::string core(trim(text_of(cpu / "topology/core_id")));
    if (!socket.empty()) {
      sockets.insert(socket);
      cores.insert({socket, core});
    }
  }
  const std::string governor(
      trim(text_of(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
  environment.set("sockets", count_or_null(sockets.size()))
      .set("cores_physical", count_or_null(cores.size()))
      .set("numa_nodes", count_or_null(numbered(root / "sys/devices/system/node", "node").size()))
      .set("cpu_governor", governor.empty() ? Json() : Json(governor));
}

Json libc_version() {
  std::array<char, 128> text{};
  return ::confstr(_CS_GNU_LIBC_VERSION, text.data(), text.size()) > 0 ? Json(text.data()) : Json();
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json gpus_json(const GpuMonitor& monitor) {
  Json gpus = Json::array();
  for (const GpuIdentity& gpu : monitor.devices()) {
    gpus.push_back(Json::object({{"model", gpu.name},
                                 {"uuid", gpu.uuid},
                                 {"vbios", or_null(gpu.vbios)},
                                 {"memory_bytes", or_null(gpu.memory_bytes)},
                                 {"power_limit_w", or_null(gpu.power_limit_w)},
                                 {"mig", or_null(gpu.mig)},
                                 {"ecc", or_null(gpu.ecc)},
                                 {"pci_bus_id", or_null(gpu.pci_bus_id)},
                                 {"pcie_generation", or_null(gpu.pcie_generation)},
                                 {"pcie_lanes", or_null(gpu.pcie_lanes)}}));
  }
  return gpus;
}

/// "0-1": "NV18" for each pair.
Json gpu_links(const GpuMonitor& monitor) {
  Json links = Json::object();
  const int count = static_cast<int>(monitor.devices().size());
  for (int first = 0; first < count; ++first) {
    for (int second = first + 1; second < count; ++second) {
      links.set(fmt::format("{}-{}", first, second), or_null(monitor.link(first, second)));
    }
  }
  return links;
}

}  // namespace

Json allowed_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (equals == std::string_view::npos) {
      continue;
    }
    if (allowed(name)) {
      found.emplace_back(name, mask_secrets(printable(text.substr(equals + 1))));
    }
  }
  std::ranges::sort(found);
  Json variables = Json::object();
  for (const auto& [name, value] : found) {
    variables.set(name, value);
  }
  return variables;
}

Json machine_environment(const GpuMonitor* gpus, const std::filesystem::path& root) {
  Json environment = host_json(read_host(root));
  set_topology(environment, root);
  environment.set("cpu_quota_cores", or_null(cpu_quota_cores()))
      .set("libc", libc_version())
      .set("driver", gpus == nullptr || gpus->driver_version().empty()
                         ? Json()
                         : Json(gpus->driver_version()))
      .set("cuda",
           gpus == nullptr || gpus->cuda_version().empty() ? Json() : Json(gpus->cuda_version()))
      .set("gpus", gpus == nullptr ? Json::array() : gpus_json(*gpus))
      .set("gpu_links", gpus == nullptr ? Json::object() : gpu_links(*gpus))
      .set("variables", allowed_variables());
  return environment;
}

}  // namespace tunebench::hardware
