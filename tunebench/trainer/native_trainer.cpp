#include <chrono>
#include <optional>
#include <utility>

#include "tunebench/base/build_info.h"
#include "tunebench/base/files.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/base/text.h"
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

  std::optional<double> roof_gflops() override {
    if (!roof_asked_) {
      roof_asked_ = true;
      roof_ = measure_roof();
    }
    return roof_;
  }

 private:
  [[nodiscard]] std::optional<double> measure_roof() const {
    const TemporaryFolder folder("tunebench-roof-");
    ChildSpec spec;
    spec.argv = {program_.string(), "roof"};
    spec.log_file = folder.path() / "rate";
    Child child = Child::start(spec);
    const std::optional<ExitStatus> exit = child.wait_for(std::chrono::seconds(30));
    if (!exit.has_value() || !exit->ok()) {
      return std::nullopt;
    }
    return parse_real(trim(read_file(spec.log_file)));
  }

  std::filesystem::path program_;
  bool roof_asked_ = false;
  std::optional<double> roof_;
};

}  // namespace

std::unique_ptr<Trainer> make_native_trainer(std::filesystem::path program) {
  return std::make_unique<NativeTrainer>(program.empty() ? own_executable() : std::move(program));
}

std::vector<std::pair<std::string, std::string>> native_libraries() {
  return engine::cpu_ops_libraries();
}

}  // namespace tunebench::trainer
