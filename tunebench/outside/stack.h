#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/outside/environment_spec.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::outside {

/// What a point needs to become a command line: all paths exist and are absolute.
struct LaunchContext {
  const trainer::Job& job;
  std::filesystem::path folder;        ///< of this run, removed after it
  std::filesystem::path modules;       ///< our Python files
  std::filesystem::path python;        ///< of the trainer's environment; empty: it has none
  std::filesystem::path model_folder;  ///< empty when the trainer is not given one
  std::filesystem::path data_file;     ///< JSON lines; empty as above
  std::string text_field;              ///< of the data file
  std::int64_t rows = 0;               ///< records of it that the job reaches
  int port = 0;                        ///< a free one, for the processes to meet at
};

/// How a trainer is started for one point.
struct Launch {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;
  /// Written into the run's folder before the start: name, content.
  std::vector<std::pair<std::string, std::string>> files;
};

/// An outside trainer: which command line, files and variables a point becomes. One file each, and
/// one line in stacks.cpp; what it can do stands in experiment/trainer_rules.cpp under its name.
/// Stateless.
class Stack {
 public:
  virtual ~Stack() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// The packages it runs with; nullptr: whatever its command finds.
  [[nodiscard]] virtual const EnvironmentSpec* environment() const = 0;
  /// Part of the reuse key.
  [[nodiscard]] virtual std::string version() const = 0;
  /// Whether it is given a model folder and a data file.
  [[nodiscard]] virtual bool reads_files() const { return true; }
  /// A folder as another version of its libraries reads it; false: the model's own.
  [[nodiscard]] virtual bool wants_version_4_folder() const { return false; }
  /// Pure. Errors: InvalidInput naming what of the point cannot be said.
  [[nodiscard]] virtual Launch launch(const LaunchContext& context) const = 0;
  [[nodiscard]] virtual trainer::Expected expected(const experiment::Point& point) const = 0;
};

/// All trainers with an environment of their own: hf, fms-hf-tuning.
const std::vector<std::unique_ptr<Stack>>& stacks();
/// nullptr when there is none of that name.
const Stack* find_stack(std::string_view name);

/// --trainer command: `argv` with placeholders such as {model_name} or {output_dir}; {{ stands for
/// {. Errors: InvalidInput for an empty command or a placeholder that means nothing, with the
/// nearest.
std::unique_ptr<Stack> make_command_stack(std::vector<std::string> argv);

/// How long a Python with PyTorch may take to exit: 12 s were seen on a machine with 15 times the
/// load that it has cores for.
inline constexpr double kPythonExitS = 120.0;

/// Training processes of a point on one node: one per GPU for DDP and FSDP, else one.
std::int64_t processes_of(const experiment::Point& point);
/// The device that a point asks for: "cuda" or "cpu".
std::string device_of(const experiment::Point& point);
/// Modules that LoRA adapts: those of the experiment's table for the model, else q_proj, v_proj.
std::vector<std::string> lora_modules(const experiment::Point& point);
/// {"hf-5.24.0+1a2b3c4d"}: a version and the lock behind it.
std::string version_with_lock(const EnvironmentSpec& spec);

std::unique_ptr<Stack> make_hf_stack();
std::unique_ptr<Stack> make_fms_hf_tuning_stack();

/// The trainer of a stack, ready to be prepared.
std::unique_ptr<trainer::Trainer> make_outside_trainer(const Stack& stack);
/// The same of a stack that belongs to it.
std::unique_ptr<trainer::Trainer> make_outside_trainer(std::unique_ptr<Stack> stack);

}  // namespace tunebench::outside
