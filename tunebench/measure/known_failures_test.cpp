#include "tunebench/measure/known_failures.h"

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

using record::Outcome;

struct Message {
  std::string_view text;
  Outcome outcome;
};

/// As the libraries write them.
constexpr Message kMessages[] = {
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", Outcome::OomGpu},
    {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
     Outcome::OomGpu},
    {"RuntimeError: CUDA error: out of memory", Outcome::OomGpu},
    {"torch.OutOfMemoryError: Allocation on device", Outcome::OomGpu},
    {"torch.cuda.OutOfMemoryError: Allocation on device", Outcome::OomGpu},
    {"cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY", Outcome::OomGpu},
    {"RuntimeError: CUDA driver error: out of memory", Outcome::OomGpu},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     Outcome::OomGpu},
    {"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Outcome::OomGpu},
    {"node-b:11:22 [1] include/alloc.h:40 NCCL WARN Cuda failure 'out of memory'", Outcome::OomGpu},
    {"node-b:11:22 [1] transport/shm.cc:590 NCCL WARN Cuda failure 2 'out of memory'",
     Outcome::OomGpu},
    {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 512.00 MiB.", Outcome::OomGpu},
    {"RuntimeError: MPS backend out of memory (MPS allocated: 9.05 GB, max allowed: 9.07 GB).",
     Outcome::OomGpu},
    {"terminate called after throwing an instance of 'std::bad_alloc'", Outcome::OomHost},
    {"RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't "
     "allocate memory: you tried to allocate 8589934592 bytes.",
     Outcome::OomHost},
    {"OSError: [Errno 12] Cannot allocate memory", Outcome::OomHost},
    {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.0 GiB for an array",
     Outcome::OomHost},
    {"MemoryError", Outcome::OomHost},
    {"RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that "
     "dataloader's workers are out of shared memory: insufficient shared memory (shm)",
     Outcome::OomHost},
    {"OSError: [Errno 28] No space left on device", Outcome::Io},
    {"OSError: [Errno 122] Disk quota exceeded", Outcome::Io},
    {"OSError: [Errno 5] Input/output error", Outcome::Io},
    {"OSError: [Errno 30] Read-only file system: '/out'", Outcome::Io},
    {"OSError: [Errno 24] Too many open files", Outcome::Io},
    {"OSError: [Errno 98] Address already in use", Outcome::Io},
    {"RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98).", Outcome::Io},
    {"torch.distributed.DistNetworkError: port: 29500, useIpv6: false, code: -98, name: EADDRINUSE",
     Outcome::Io},
    {"NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.", Outcome::Cuda},
    {"RuntimeError: CUDA error: uncorrectable ECC error encountered", Outcome::Cuda},
    {"RuntimeError: CUDA error: an illegal memory access was encountered", Outcome::Cuda},
    {"RuntimeError: CUDA error: device-side assert triggered", Outcome::Cuda},
    {"RuntimeError: CUDA error: no kernel image is available for execution on the device",
     Outcome::Cuda},
    {"ncclSystemError: System call (e.g. socket, malloc) or external library call failed",
     Outcome::Nccl},
    {"ncclInternalError: Internal check failed.", Outcome::Nccl},
    {"ncclRemoteError: A call failed possibly due to a network error", Outcome::Nccl},
    {"ncclUnhandledCudaError: Call to CUDA function failed.", Outcome::Nccl},
    {"torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275", Outcome::Nccl},
    {"[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6)", Outcome::Nccl},
    {"RuntimeError: CUDA error: unspecified launch failure", Outcome::Cuda},
    {"failed (exitcode: -9) local_rank: 1 (pid: 4712) of binary: /usr/bin/python3",
     Outcome::Killed},
    {"RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.", Outcome::Killed},
};

TEST(KnownFailuresTest, NamesTheOutcomeOfRealMessagesAndGivesTheirLine) {
  for (const Message& message : kMessages) {
    const std::string log = "step 3\n  " + std::string(message.text) + "\nend of log\n";
    const std::optional<FoundFailure> found = find_known_failure(log);
    ASSERT_TRUE(found.has_value()) << message.text;
    EXPECT_EQ(found->outcome, message.outcome) << message.text;
    EXPECT_EQ(found->line, message.text);
  }
}

TEST(KnownFailuresTest, HasARealMessageForEveryRow) {
  for (const KnownFailure& known : known_failures()) {
    bool found = false;
    for (const Message& message : kMessages) {
      std::string lowered(message.text);
      for (char& letter : lowered) {
        letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
      }
      found = found ||
              (message.outcome == known.outcome && lowered.find(known.text) != std::string::npos);
    }
    EXPECT_TRUE(found) << known.text;
  }
}

TEST(KnownFailuresTest, TakesTheCauseBeforeWhatFollowsFromIt) {
  const std::optional<FoundFailure> found = find_known_failure(
      "[rank1] NCCL error: remote process exited\n[rank0] torch.OutOfMemoryError: CUDA out of "
      "memory.\n");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->outcome, Outcome::OomGpu);
}

TEST(KnownFailuresTest, FindsNothingInOtherFailures) {
  EXPECT_FALSE(find_known_failure("").has_value());
  EXPECT_FALSE(
      find_known_failure("ValueError: bad value\nNCCL INFO Using network Socket\n").has_value());
}

}  // namespace
}  // namespace tunebench::measure
