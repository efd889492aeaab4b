#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/file_lock.h"
#include "tunebench/outside/environment_spec.h"

namespace tunebench::outside {

/// $TUNEBENCH_ENVS, else "envs" in user_data_folder().
std::filesystem::path default_environments_folder();

/// One environment on disk.
struct EnvironmentState {
  std::string name;  ///< "hf-5.24.0"
  std::filesystem::path folder;
  bool known = false;   ///< this version's lock; false: of another version of tunebench
  bool ready = false;   ///< made to its end
  bool in_use = false;  ///< a process makes, checks or measures with it
  std::int64_t bytes = 0;
  std::string made_at;  ///< empty when it is not ready
};

/// Virtual environments, one for each trainer and lock, shared by all processes of this user. A
/// lock file beside each is held shared while a process measures with it and exclusively while it
/// is made or removed, so that two processes make it once and none removes it from under another.
class Environments {
 public:
  using Say = std::function<void(const std::string&)>;

  explicit Environments(std::filesystem::path root) : root_(std::move(root)) {}

  /// Makes it when it is not ready and holds it until the result is gone. `say` gets a line when
  /// something lasts. Packages come by `uv` when that is in PATH, else by pip; exactly those of the
  /// lock, their hashes checked. Errors: Io with the line that matters and where the log is;
  /// NotFound without a Python (TUNEBENCH_PYTHON, else python3).
  FileLock use(const EnvironmentSpec& spec, const Say& say);
  /// Holds one that is ready; nullopt when it is not. Errors: Io.
  std::optional<FileLock> hold(const EnvironmentSpec& spec);

  [[nodiscard]] std::filesystem::path folder(const EnvironmentSpec& spec) const;
  /// Of the environment: run this, with its bin folder first in PATH.
  [[nodiscard]] std::filesystem::path python(const EnvironmentSpec& spec) const;
  [[nodiscard]] bool ready(const EnvironmentSpec& spec) const;

  /// All that this version can make and all that is there, by name.
  [[nodiscard]] std::vector<EnvironmentState> list() const;
  /// What is wrong with one that is ready: packages that are not those of the lock, modules that
  /// do not import. Empty when all is well.
  std::vector<std::string> check(const EnvironmentSpec& spec);
  /// By the name of its folder. Errors: NotFound; Io when it is in use.
  void remove(const std::string& folder_name);

 private:
  [[nodiscard]] std::filesystem::path lock_file(const std::string& folder_name) const;
  void make(const EnvironmentSpec& spec, const Say& say);

  std::filesystem::path root_;
};

}  // namespace tunebench::outside
