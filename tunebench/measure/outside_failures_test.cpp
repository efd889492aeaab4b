// How outside trainers really fail: what each wrote and how it ended, recorded on a CPU machine,
// and what becomes of it. Ten of them end with exit code 0.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/measure/known_failures.h"
#include "tunebench/measure/outcome.h"

namespace tunebench::measure {
namespace {

using record::Outcome;
using testing::HasSubstr;

/// What the events of a run told, where it came as far as that.
struct Told {
  std::int64_t steps = 0;
  std::int64_t trained = 2044;
  double loss = 2.5;
  std::int64_t world = 1;
  std::string device = "cpu";
  bool end = true;
};

struct Failure {
  const char* name;
  int exit_code = 1;
  const char* log = "";
  Outcome outcome = Outcome::Crashed;
  const char* reason = "";
  Told told = {};
  trainer::Expected expected = {.ranks = 1, .device = "cpu"};
  bool memory_killer = false;
  KilledFor killed = KilledFor::Nothing;
};

Verdict verdict_of(const Failure& failure) {
  Tally tally{experiment::Point{}};
  RunEnd run;
  run.timeout_s = 3600;
  run.stalled_s = 600;
  run.killed = failure.killed;
  run.exit = unwrap_shell_code({.code = failure.exit_code});
  run.log_end = failure.log;
  run.memory_killer = failure.memory_killer;
  run.expected = failure.expected;
  const Told& told = failure.told;
  if (told.steps > 0) {
    run.phase = "train";
    run.ranks.world = told.world;
    for (std::int64_t rank = 0; rank < told.world; ++rank) {
      run.ranks.told.insert(rank);
      run.ranks.stepped.insert(rank);
      run.ranks.devices[rank] = told.device;
    }
  }
  for (std::int64_t n = 1; n <= told.steps; ++n) {
    tally.add({.n = n,
               .t0 = n * 1000,
               .t1 = n * 1000 + 900,
               .samples = 4,
               .tokens = 2048,
               .tokens_nonpad = 2048,
               .tokens_trained = told.trained,
               .loss = told.loss});
  }
  if (told.steps > 0 && told.end) {
    run.end = trainer::EndEvent{.status = "ok", .steps = told.steps};
    tally.end(*run.end);
  }
  return judge(run, tally);
}

const Failure kFailures[] = {
    // Missing packages and wrong versions.
    {"LitgptWithoutRequests", 1,
     "ImportError: requests package is required by _set_config_read_mode\n", Outcome::InvalidConfig,
     "requests package is required"},
    {"MissingModule", 1,
     "Traceback (most recent call last):\nModuleNotFoundError: No module named 'litgpt'\n",
     Outcome::InvalidConfig, "No module named 'litgpt'"},
    {"MissingDeepspeed", 1,
     "importlib.metadata.PackageNotFoundError: No package metadata was found for deepspeed\n",
     Outcome::InvalidConfig, "deepspeed"},
    {"FmsFlashAttention", 203,
     "ImportError: FlashAttention2 has been toggled on, but it cannot be used: flash_attn seems to "
     "be not installed\n",
     Outcome::InvalidConfig, "FlashAttention2"},
    {"FmsFastMoe", 1, "ValueError: No acceleration framework package found.\n",
     Outcome::InvalidConfig, "No acceleration framework"},
    {"TorchtuneWithNewTorchao", 1,
     "ModuleNotFoundError: No module named 'torchao.dtypes.nf4tensor'\n", Outcome::InvalidConfig,
     "torchao"},
    {"FmsVersion5Tokenizer", 1,
     "ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.\n",
     Outcome::InvalidConfig, "TokenizersBackend"},
    // Missing files.
    {"MissingModelFolder", 1,
     "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
     "'namespace/repo_name': '/none'.\n",
     Outcome::InvalidConfig, "Repo id"},
    {"LitgptMissingModelFolder", 1, "checkpoint_dir '/none' is not a checkpoint directory.\n",
     Outcome::InvalidConfig, "/none"},
    {"TorchtuneMissingModelFolder", 1,
     "FileNotFoundError: [Errno 2] No such file or directory: '/none/config.json'\n",
     Outcome::InvalidConfig, "config.json"},
    {"FmsMissingData", 1,
     "FileNotFoundError: Unable to find '/none.jsonl'\nThe above exception was the direct cause:\n"
     "ValueError: Data loading failed: invalid path None with builder json\n",
     Outcome::InvalidConfig, "Data loading failed"},
    // Wrong flags. That three trainers ignore them is why an input that a trainer does not honour
    // is refused before it starts.
    {"LitgptWrongFlag", 2, "error: Unrecognized arguments: --train.no_such 1\n",
     Outcome::InvalidConfig, "--train.no_such"},
    {"TorchtuneWrongFlag", 1,
     "ValueError: Additional flag arguments not supported during runtime.\n",
     Outcome::InvalidConfig, "Additional flag"},
    {"FmsWithoutATemplate", 1,
     "ValueError: Since response_template is not provided for masking, either use packing or "
     "padding_free.\n",
     Outcome::InvalidConfig, "response_template"},
    // Devices.
    {"HfWithoutCuda", 1,
     "RuntimeError: CUDA is not available to PyTorch, but GPUs were asked for\n", Outcome::Cuda,
     "CUDA is not available"},
    {"CudaAskedAndAbsent",
     0,
     "",
     Outcome::Cuda,
     "asked for cuda, but rank 0 trained on cpu",
     {.steps = 3},
     {.ranks = 1, .device = "cuda"}},
    {"LitgptFsdpOnCpu", 1,
     "ValueError: You selected the FSDP strategy but FSDP is only available on GPU.\n",
     Outcome::InvalidConfig, "FSDP"},
    {"AxolotlWithoutDriver", 1,
     "[rank0]: RuntimeError: Found no NVIDIA driver on your system. Please check.\n", Outcome::Cuda,
     "Found no NVIDIA driver"},
    {"AccelerateFsdpOnCpu", 1,
     "RuntimeError: There are currently no available devices found, must be one of 'XPU', 'CUDA'\n",
     Outcome::Cuda, "no available devices"},
    {"TorchtuneDistributedOnCpu", 1,
     "ValueError: Logging memory stats is not supported on CPU devices; got device=cpu\n",
     Outcome::InvalidConfig, "memory stats"},
    {"TorchtuneDistributedOnCpuFurther", 1,
     "AttributeError: module 'torch.cpu' has no attribute 'empty_cache'\n", Outcome::InvalidConfig,
     "empty_cache"},
    // Memory.
    {"NoMemoryWhileImporting", 1, "MemoryError\n", Outcome::OomHost, "MemoryError"},
    {"NoMemoryInTraining", 1,
     "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't "
     "allocate memory: you tried to allocate 56623104 bytes. Error code 12 (Cannot allocate "
     "memory)\n",
     Outcome::OomHost, "DefaultCPUAllocator"},
    {"KilledByTheMemoryKiller", 137, "", Outcome::OomHost, "memory killer", {}, {}, true},
    {"RankKilledByTheMemoryKiller",
     1,
     "Signal 9 (SIGKILL) received by PID 5\nfailed (exitcode: -9) local_rank: 1 (pid: 5) of "
     "binary: python\n",
     Outcome::OomHost,
     "memory killer",
     {},
     {},
     true},
    {"RankKilledByHand", 1,
     "Sending process 4 closing signal SIGTERM\nfailed (exitcode: -9) local_rank: 1 (pid: 5) of "
     "binary: python\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
     Outcome::Killed, "(exitcode: -9) local_rank: 1"},
    // Rendezvous.
    {"RankMissing",
     137,
     "",
     Outcome::Timeout,
     "no process has begun to train for 10 min",
     {},
     {.ranks = 2, .device = "cpu"},
     false,
     KilledFor::Silent},
    {"PortInUse", 1,
     "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
     "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address "
     "already in use\n",
     Outcome::Io, "EADDRINUSE"},
    {"AnotherPortTaken",
     0,
     "Port `29500` is already in use. Accelerate will attempt to launch in a standalone-like "
     "mode\n",
     Outcome::Ok,
     "",
     {.steps = 3, .world = 2},
     {.ranks = 2, .device = "cpu"}},
    // Data.
    {"TrlColumnMissing", 1, "KeyError: 'completion'\n", Outcome::InvalidConfig, "completion"},
    {"FmsColumnMissing", 203,
     "KeyError: \"Failed to render provided chat/custom template on dataset. Field 'x' not "
     "found\"\n",
     Outcome::InvalidConfig, "Failed to render"},
    {"LitgptColumnMissing", 1, "KeyError: 'output'\n", Outcome::InvalidConfig, "output"},
    {"TorchtuneRowTooLong", 1,
     "ValueError: seq_len (709) of input tensor should be smaller than max_seq_len (128)\n",
     Outcome::InvalidConfig, "709"},
    {"BatchZero", 1,
     "ValueError: batch_size should be a positive integer value, but got batch_size=0\n",
     Outcome::InvalidConfig, "batch_size"},
    {"AxolotlBatchZero", 1, "ZeroDivisionError: float division by zero\n", Outcome::Crashed,
     "exit code 1 before its first event: ZeroDivisionError"},
    {"LitgptWarmupZero", 1, "ZeroDivisionError: division by zero\nlast words\n", Outcome::Crashed,
     "ZeroDivisionError: division by zero"},
    {"NothingToLearn",
     0,
     "Could not find response key\n",
     Outcome::InvalidConfig,
     "no token was trained in 3 steps",
     {.steps = 3, .trained = 0, .loss = 0.0}},
    {"LossZero",
     0,
     "",
     Outcome::Crashed,
     "the loss is exactly 0 in all 3 steps",
     {.steps = 3, .loss = 0.0}},
    {"OneProcessInsteadOfTwo",
     0,
     "",
     Outcome::Crashed,
     "2 processes were asked for, 1 trained",
     {.steps = 3},
     {.ranks = 2, .device = "cpu"}},
    {"OneRankEndsWithoutAnEnd",
     0,
     "",
     Outcome::Crashed,
     "without an end event",
     {.steps = 3, .world = 2, .end = false},
     {.ranks = 2, .device = "cpu"}},
    {"AllIsAsAsked",
     0,
     "UserWarning: ImportError: something optional is missing\n",
     Outcome::Ok,
     "",
     {.steps = 3}},
};

TEST(OutsideFailures, AreNamedAndGiveTheLineThatMatters) {
  for (const Failure& failure : kFailures) {
    const Verdict verdict = verdict_of(failure);
    EXPECT_EQ(record::outcome_name(verdict.outcome), record::outcome_name(failure.outcome))
        << failure.name << ": " << verdict.reason;
    EXPECT_THAT(verdict.reason, HasSubstr(failure.reason)) << failure.name;
    EXPECT_EQ(verdict.reason.empty(), failure.outcome == Outcome::Ok) << failure.name;
  }
}

TEST(OutsideFailures, HaveAMessageForEveryKnownErrorLine) {
  for (const KnownFailure& known : known_error_lines()) {
    bool found = false;
    for (const Failure& failure : kFailures) {
      std::string lowered(failure.log);
      for (char& letter : lowered) {
        letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
      }
      found = found ||
              (lowered.find(known.text) != std::string::npos && failure.outcome == known.outcome);
    }
    EXPECT_TRUE(found) << known.text;
  }
}

TEST(OutsideFailures, NameTheRanksThatNeverBegan) {
  RunEnd run;
  run.killed = KilledFor::Silent;
  run.stalled_s = 600;
  run.expected = {.ranks = 4, .device = "cpu"};
  run.ranks = {.world = 4, .told = {0, 1, 2, 3}, .stepped = {0, 3}};
  const Verdict verdict = judge(run, Tally{experiment::Point{}});
  EXPECT_EQ(verdict.outcome, Outcome::Timeout);
  EXPECT_THAT(verdict.reason, HasSubstr("no first step of rank 1, 2 of 4 for 10 min 0 s"));
}

}  // namespace
}  // namespace tunebench::measure
