#include "tunebench/measure/known_failures.h"

#include "tunebench/base/text.h"

namespace tunebench::measure {

const std::vector<KnownFailure>& known_failures() {
  using enum record::Outcome;
  static const std::vector<KnownFailure> kTable = {
      {"cuda out of memory", OomGpu},
      {"cuda error: out of memory", OomGpu},
      {"torch.outofmemoryerror", OomGpu},
      {"torch.cuda.outofmemoryerror", OomGpu},
      {"cuda_error_out_of_memory", OomGpu},
      {"cuda driver error: out of memory", OomGpu},
      {"cublas_status_alloc_failed", OomGpu},
      {"cudnn_status_alloc_failed", OomGpu},
      {"cuda failure 'out of memory'", OomGpu},
      {"cuda failure 2 'out of memory'", OomGpu},
      {"hip out of memory", OomGpu},
      {"mps backend out of memory", OomGpu},
      {"std::bad_alloc", OomHost},
      {"defaultcpuallocator: can't allocate memory", OomHost},
      {"cannot allocate memory", OomHost},
      {"unable to allocate", OomHost},
      {"memoryerror", OomHost},
      {"insufficient shared memory (shm)", OomHost},
      {"no space left on device", Io},
      {"disk quota exceeded", Io},
      {"input/output error", Io},
      {"read-only file system", Io},
      {"too many open files", Io},
      {"address already in use", Io},
      {"server socket has failed to bind", Io},
      {"gpu has fallen off the bus", Cuda},
      {"uncorrectable ecc error", Cuda},
      {"illegal memory access", Cuda},
      {"device-side assert", Cuda},
      {"no kernel image is available", Cuda},
      {"ncclsystemerror", Nccl},
      {"ncclinternalerror", Nccl},
      {"ncclremoteerror", Nccl},
      {"ncclunhandledcudaerror", Nccl},
      {"nccl error", Nccl},
      {"watchdog caught collective operation timeout", Nccl},
      {"cuda error:", Cuda},
      {"(exitcode: -9) local_rank", Killed},
      {"is killed by signal: killed", Killed},
  };
  return kTable;
}

std::optional<FoundFailure> find_known_failure(std::string_view log) {
  const std::string lowered = lower_ascii(log);
  for (const KnownFailure& known : known_failures()) {
    const std::size_t at = lowered.find(known.text);
    if (at == std::string::npos) {
      continue;
    }
    const std::size_t before = log.rfind('\n', at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = log.substr(begin, log.find('\n', at) - begin);
    return FoundFailure{.outcome = known.outcome, .line = printable(trim(line))};
  }
  return std::nullopt;
}

}  // namespace tunebench::measure
