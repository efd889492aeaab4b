// `tunebench train JOB` alone, for tests that need the worker as a process.
#include <string_view>

#include "tunebench/trainer/trainer.h"

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "train") {
    return 64;
  }
  return tunebench::trainer::run_native_worker(argv[2]);
}
