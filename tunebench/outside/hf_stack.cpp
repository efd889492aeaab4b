#include <algorithm>
#include <cmath>

#include "tunebench/base/json.h"
#include "tunebench/outside/stack.h"

namespace tunebench::outside {
namespace {

/// ceil(ratio * steps), as the Trainer itself works it out from a ratio.
std::int64_t warmup_steps_of(const experiment::Point& point, std::int64_t steps) {
  return static_cast<std::int64_t>(
      std::ceil(point.real("warmup_ratio") * static_cast<double>(steps)));
}

Json hf_settings(const LaunchContext& context) {
  const experiment::Point& point = context.job.point;
  const std::int64_t steps = context.job.planned_steps;
  const experiment::Experiment* experiment = experiment::find_experiment(point.experiment);
  const std::string method = experiment == nullptr ? "full" : experiment->method;
  Json modules = Json::array();
  for (const std::string& module : lora_modules(point)) {
    modules.push_back(module);
  }
  return Json::object(
      {{"model", context.model_folder.string()},
       {"data", context.data_file.string()},
       {"text_field", context.text_field},
       {"rows", context.rows},
       {"output_dir", (context.folder / "output").string()},
       {"length", point.integer("model_max_length")},
       {"per_device_batch_size", trainer::device_batch_size(point)},
       {"gradient_accumulation_steps", point.integer("gradient_accumulation_steps")},
       {"max_steps", steps},
       {"learning_rate", point.real("learning_rate")},
       {"weight_decay", point.real("weight_decay")},
       {"warmup_steps", warmup_steps_of(point, steps)},
       {"lr_scheduler_type", point.text("lr_scheduler_type")},
       {"max_grad_norm", point.real("max_grad_norm")},
       {"optim", point.text("optim")},
       {"torch_dtype", point.text("torch_dtype")},
       {"bf16", point.boolean("bf16")},
       {"gradient_checkpointing", point.boolean("gradient_checkpointing")},
       {"use_reentrant", point.boolean("gradient_checkpointing_use_reentrant")},
       {"attention", point.boolean("flash_attn") ? "sdpa" : "eager"},
       {"method", method},
       {"lora", Json::object({{"r", point.integer("r")},
                              {"alpha", point.integer("lora_alpha")},
                              {"dropout", 0.05},
                              {"target_modules", std::move(modules)}})},
       {"seed", point.integer("seed")},
       {"use_cpu", point.integer("number_gpus") == 0},
       {"backend", processes_of(point) > 1 ? point.text("distributed_backend") : "None"}});
}

class HfStack final : public Stack {
 public:
  [[nodiscard]] std::string name() const override { return "hf"; }
  [[nodiscard]] const EnvironmentSpec* environment() const override {
    return find_environment_spec("hf");
  }
  [[nodiscard]] std::string version() const override { return version_with_lock(*environment()); }

  [[nodiscard]] Launch launch(const LaunchContext& context) const override {
    const std::int64_t processes = processes_of(context.job.point);
    Launch launch;
    launch.argv = {context.python.string()};
    if (processes > 1) {
      const std::vector<std::string> torchrun{"-m",
                                              "torch.distributed.run",
                                              "--nproc_per_node",
                                              std::to_string(processes),
                                              "--master_addr",
                                              "127.0.0.1",
                                              "--master_port",
                                              std::to_string(context.port)};
      launch.argv.insert(launch.argv.end(), torchrun.begin(), torchrun.end());
    }
    launch.argv.push_back((context.modules / "tunebench_hf_train.py").string());
    launch.argv.push_back((context.folder / "settings.json").string());
    launch.files.emplace_back("settings.json", hf_settings(context).dump(2) + "\n");
    return launch;
  }

  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return {.ranks = processes_of(point), .device = device_of(point), .exit_s = kPythonExitS};
  }
};

}  // namespace

std::unique_ptr<Stack> make_hf_stack() {
  return std::make_unique<HfStack>();
}

}  // namespace tunebench::outside
