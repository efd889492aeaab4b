#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/trainer/child_running.h"
#include "tunebench/trainer/job.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

class CommandTrainer final : public Trainer {
 public:
  explicit CommandTrainer(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  [[nodiscard]] std::string name() const override { return "command"; }
  /// Its hello event tells the version.
  [[nodiscard]] std::string version() const override { return ""; }

  std::unique_ptr<Running> start(const Job& job) override {
    return ChildRunning::start(argv_, {{"TUNEBENCH_JOB", job_text(job)}}, job.log_file);
  }

 private:
  std::vector<std::string> argv_;
};

}  // namespace

std::unique_ptr<Trainer> make_command_trainer(std::vector<std::string> argv) {
  if (argv.empty() || argv.front().empty()) {
    throw Error(ErrorCode::InvalidInput, "the trainer's command is empty");
  }
  return std::make_unique<CommandTrainer>(std::move(argv));
}

}  // namespace tunebench::trainer
