#include <utility>

#include "tunebench/base/build_info.h"
#include "tunebench/base/files.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/trainer/child_running.h"
#include "tunebench/trainer/job.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

class NativeTrainer final : public Trainer {
 public:
  explicit NativeTrainer(std::filesystem::path program) : program_(std::move(program)) {}

  [[nodiscard]] std::string name() const override { return "native"; }
  [[nodiscard]] std::string version() const override { return build_info().version; }

  std::unique_ptr<Running> start(const Job& job) override {
    return ChildRunning::start({program_.string(), "train", job_text(job)}, {}, job.log_file);
  }

 private:
  std::filesystem::path program_;
};

}  // namespace

std::unique_ptr<Trainer> make_native_trainer(std::filesystem::path program) {
  return std::make_unique<NativeTrainer>(program.empty() ? own_executable() : std::move(program));
}

std::vector<std::pair<std::string, std::string>> native_libraries() {
  return engine::cpu_ops_libraries();
}

}  // namespace tunebench::trainer
