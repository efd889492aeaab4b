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
      {"eaddrinuse", Io},
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

const std::vector<KnownFailure>& known_error_lines() {
  using enum record::Outcome;
  static const std::vector<KnownFailure> kTable = {
      {"found no nvidia driver", Cuda},
      {"no available devices found", Cuda},
      {"cuda is not available", Cuda},
      {"modulenotfounderror:", InvalidConfig},
      {"importerror:", InvalidConfig},
      {"packagenotfounderror:", InvalidConfig},
      {"no acceleration framework package found", InvalidConfig},
      {"tokenizer class", InvalidConfig},
      {"repo id must be in the form", InvalidConfig},
      {"is not a checkpoint directory", InvalidConfig},
      {"filenotfounderror:", InvalidConfig},
      {"data loading failed", InvalidConfig},
      {"unrecognized arguments", InvalidConfig},
      {"additional flag arguments not supported", InvalidConfig},
      {"fsdp is only available on gpu", InvalidConfig},
      {"is not supported on cpu devices", InvalidConfig},
      {"module 'torch.cpu' has no attribute", InvalidConfig},
      {"failed to render provided chat/custom template", InvalidConfig},
      {"keyerror: 'completion'", InvalidConfig},
      {"keyerror: 'output'", InvalidConfig},
      {"should be smaller than max_seq_len", InvalidConfig},
      {"batch_size should be a positive integer", InvalidConfig},
      {"response_template is not provided for masking", InvalidConfig},
  };
  return kTable;
}

std::optional<FoundFailure> find_known_error(std::string_view line) {
  const std::string lowered = lower_ascii(line);
  for (const KnownFailure& known : known_error_lines()) {
    if (lowered.find(known.text) != std::string::npos) {
      return FoundFailure{.outcome = known.outcome, .line = printable(trim(line))};
    }
  }
  return std::nullopt;
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
