// `tunebench train JOB`, `tunebench roof` and `tunebench simulate JOB MODEL` alone, for tests that
// need a worker as a process.
#include <string_view>

#include "tunebench/trainer/simulated_trainer.h"
#include "tunebench/trainer/trainer.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "simulate") {
    return tunebench::trainer::run_simulated_worker(argv[2], argv[3]);
  }
  if (argc == 2 && std::string_view(argv[1]) == "roof") {
    return tunebench::trainer::run_roof_worker();
  }
  if (argc != 3 || std::string_view(argv[1]) != "train") {
    return 64;
  }
  return tunebench::trainer::run_native_worker(argv[2]);
}
