#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/outside/environments.h"
#include "tunebench/outside/free_port.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/work_files.h"
#include "tunebench/trainer/child_running.h"
#include "tunebench/trainer/job.h"

namespace tunebench::outside {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string variable_or(const char* name, const std::string& absent) {
  const char* value = std::getenv(name);
  return value == nullptr ? absent : value;
}

std::string with_first(const std::string& first, const std::string& rest) {
  return rest.empty() ? first : first + ":" + rest;
}

/// The first GPUs of those that this process may use; none for a point on the CPU.
std::string visible_gpus(std::int64_t count) {
  std::vector<std::string> usable;
  if (const char* given = std::getenv("CUDA_VISIBLE_DEVICES")) {
    usable = split(given, ',');
  } else {
    for (std::int64_t index = 0; index < count; ++index) {
      usable.push_back(std::to_string(index));
    }
  }
  if (std::ssize(usable) > count) {
    usable.resize(static_cast<std::size_t>(count));
  }
  return join(usable, ",");
}

/// What every trainer's processes find. HF_TOKEN and other secrets are inherited, not named here.
Variables common_variables(const LaunchContext& context) {
  const experiment::Point& point = context.job.point;
  const int cores = std::max<int>(1, usable_cores() / static_cast<int>(processes_of(point)));
  Variables variables{
      {"TUNEBENCH_JOB", trainer::job_text(context.job)},
      {"PYTHONPATH", with_first(context.modules.string(), variable_or("PYTHONPATH", ""))},
      {"PYTHONUNBUFFERED", "1"},
      {"PYTHONDONTWRITEBYTECODE", "1"},
      {"CUDA_VISIBLE_DEVICES", visible_gpus(point.integer("number_gpus"))},
      {"OMP_NUM_THREADS", variable_or("OMP_NUM_THREADS", std::to_string(cores))},
      {"TOKENIZERS_PARALLELISM", variable_or("TOKENIZERS_PARALLELISM", "false")}};
  if (!context.python.empty()) {
    const Variables own{
        {"PATH", with_first(context.python.parent_path().string(), variable_or("PATH", ""))},
        {"VIRTUAL_ENV", context.python.parent_path().parent_path().string()},
        {"PYTHONNOUSERSITE", "1"},
        // Model and data are here: a look at a hub would only cost time, or hang.
        {"HF_HUB_OFFLINE", "1"},
        {"HF_DATASETS_OFFLINE", "1"},
        {"HF_HUB_DISABLE_TELEMETRY", "1"},
        {"HF_DATASETS_CACHE", (context.folder / "datasets").string()}};
    variables.insert(variables.end(), own.begin(), own.end());
  }
  return variables;
}

/// A child with the folder that it works in.
class OutsideRunning final : public trainer::Running {
 public:
  OutsideRunning(std::unique_ptr<TemporaryFolder> folder, std::unique_ptr<trainer::Running> running)
      : folder_(std::move(folder)), running_(std::move(running)) {}

  std::optional<trainer::Event> next_event(std::chrono::nanoseconds timeout) override {
    return running_->next_event(timeout);
  }
  [[nodiscard]] bool stream_ended() const override { return running_->stream_ended(); }
  [[nodiscard]] pid_t pid() const override { return running_->pid(); }
  [[nodiscard]] std::int64_t dropped_lines() const override { return running_->dropped_lines(); }
  [[nodiscard]] trainer::RanksSeen ranks() const override { return running_->ranks(); }
  void request_stop() override { running_->request_stop(); }
  void kill() override { running_->kill(); }
  ExitStatus wait(std::chrono::nanoseconds timeout) override { return running_->wait(timeout); }

 private:
  std::unique_ptr<TemporaryFolder> folder_;  // outlives the child
  std::unique_ptr<trainer::Running> running_;
};

class OutsideTrainer final : public trainer::Trainer {
 public:
  OutsideTrainer(std::unique_ptr<Stack> owned, const Stack& stack)
      : owned_(std::move(owned)), stack_(stack), environments_(default_environments_folder()) {}

  [[nodiscard]] std::string name() const override { return stack_.name(); }
  [[nodiscard]] std::string version() const override { return stack_.version(); }
  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return stack_.expected(point);
  }
  [[nodiscard]] Variables packages() const override {
    return stack_.environment() == nullptr ? Variables{} : stack_.environment()->packages();
  }

  void prepare() override {
    if (stack_.environment() != nullptr && !held_.has_value()) {
      held_ =
          environments_.use(*stack_.environment(), [](const std::string& text) { log_info(text); });
    }
  }

  std::unique_ptr<trainer::Running> start(const trainer::Job& job) override {
    prepare();
    auto folder = std::make_unique<TemporaryFolder>("tunebench-run-");
    const LaunchContext context = context_of(job, folder->path());
    const Launch launch = stack_.launch(context);
    std::filesystem::create_directories(folder->path() / "output");
    write_file_atomically(folder->path() / "job.json", trainer::job_text(job) + "\n");
    for (const auto& [name, content] : launch.files) {
      write_file_atomically(folder->path() / name, content);
    }
    Variables variables = common_variables(context);
    variables.insert(variables.end(), launch.environment.begin(), launch.environment.end());
    variables.emplace_back("TUNEBENCH_JOB_FILE", (folder->path() / "job.json").string());
    trainer::ChildFiles files{.events = folder->path() / "events", .stop = folder->path() / "stop"};
    if (stack_.environment() != nullptr) {
      files.working_folder = folder->path();  // a command of the user's runs where the user is
    }
    std::unique_ptr<trainer::Running> running =
        trainer::ChildRunning::start(launch.argv, variables, job.log_file, files);
    return std::make_unique<OutsideRunning>(std::move(folder), std::move(running));
  }

 private:
  LaunchContext context_of(const trainer::Job& job, const std::filesystem::path& folder) {
    LaunchContext context{
        .job = job, .folder = folder, .modules = work_.modules(), .port = free_port()};
    if (const EnvironmentSpec* environment = stack_.environment()) {
      context.python = std::filesystem::absolute(environments_.python(*environment));
    }
    if (stack_.reads_files()) {
      const WorkFiles::Data data = work_.data(job.point, job.planned_steps);
      context.model_folder = work_.model(job.point, stack_.wants_version_4_folder());
      context.data_file = data.file;
      context.text_field = data.field;
      context.rows = data.rows;
    }
    return context;
  }

  std::unique_ptr<Stack> owned_;
  const Stack& stack_;
  Environments environments_;
  WorkFiles work_;
  std::optional<FileLock> held_;
};

}  // namespace

std::unique_ptr<trainer::Trainer> make_outside_trainer(const Stack& stack) {
  return std::make_unique<OutsideTrainer>(nullptr, stack);
}

std::unique_ptr<trainer::Trainer> make_outside_trainer(std::unique_ptr<Stack> stack) {
  const Stack& shown = *stack;
  return std::make_unique<OutsideTrainer>(std::move(stack), shown);
}

}  // namespace tunebench::outside
