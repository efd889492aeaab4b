#include "tunebench/base/text.h"
#include "tunebench/outside/fms_flags.h"
#include "tunebench/outside/stack.h"

namespace tunebench::outside {
namespace {

class FmsHfTuningStack final : public Stack {
 public:
  [[nodiscard]] std::string name() const override { return "fms-hf-tuning"; }
  [[nodiscard]] const EnvironmentSpec* environment() const override {
    return find_environment_spec("fms-hf-tuning");
  }
  [[nodiscard]] std::string version() const override { return version_with_lock(*environment()); }
  /// It comes with transformers 4.
  [[nodiscard]] bool wants_version_4_folder() const override { return true; }

  [[nodiscard]] Launch launch(const LaunchContext& context) const override {
    const experiment::Point& point = context.job.point;
    const std::int64_t processes = processes_of(point);
    Launch launch;
    launch.argv = {context.python.string(), "-m"};
    if (processes > 1) {
      const std::string config = "accelerate_config.yaml";
      launch.files.emplace_back(config, accelerate_config(point, processes, context.port));
      const std::vector<std::string> words{"accelerate.commands.launch",       "--config_file",
                                           (context.folder / config).string(), "--num_processes",
                                           std::to_string(processes),          "--module"};
      launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    }
    launch.argv.emplace_back("tuning.sft_trainer");
    const FmsPaths paths{.model = context.model_folder.string(),
                         .data = context.data_file.string(),
                         .output = (context.folder / "output").string(),
                         .work_folder = context.folder.string(),
                         .entity = ""};
    const std::vector<std::string> words =
        flag_words(fms_flags(point, paths, context.job.planned_steps));
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    launch.environment = {{"NCCL_IB_DISABLE", "0"},  // as the reference system does on one node
                          {"AIM_UI_TELEMETRY_ENABLED", "0"},
                          // It says there why it failed; one line, best place to read the cause.
                          {"TERMINATION_LOG_FILE", (context.folder / "termination.log").string()}};
    return launch;
  }

  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return {.ranks = processes_of(point), .device = device_of(point), .exit_s = kPythonExitS};
  }
};

}  // namespace

std::unique_ptr<Stack> make_fms_hf_tuning_stack() {
  return std::make_unique<FmsHfTuningStack>();
}

}  // namespace tunebench::outside
