#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_folder.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/subprocess.h"

namespace tunebench::integration {

/// What one call of the program said.
struct Said {
  ExitStatus exit;
  std::string out;
  std::string err;
};

/// The program as a user has it, in a folder and with a store of its own.
class Session {
 public:
  Session();

  /// Runs the program to its end; a hang is a failure after `limit`.
  Said run(const std::vector<std::string>& words,
           std::chrono::seconds limit = std::chrono::seconds(120));

  /// A call that still runs.
  class Running {
   public:
    Running(Child child, std::filesystem::path out, std::filesystem::path err);
    void signal(int number);
    Said wait(std::chrono::seconds limit = std::chrono::seconds(120));

   private:
    Child child_;
    std::filesystem::path out_;
    std::filesystem::path err_;
  };
  Running start(const std::vector<std::string>& words);

  /// Bounds the address space of every later call and its children, in KiB.
  void limit_memory(std::int64_t kib) { memory_kib_ = std::to_string(kib); }

  /// Puts every later call and its children into a control group.
  void set_control_group(std::filesystem::path group) { control_group_ = std::move(group); }

  /// All attempts in the store, as exported.
  Json exported();
  /// Waits until the store holds at least so many valid measurements. False when it takes too long.
  bool wait_for_measurements(std::size_t count);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path store() const { return folder() / "store" / "store.db"; }
  /// Writes a file in the session's folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  TemporaryFolder folder_;
  int calls_ = 0;
  std::string memory_kib_;
  std::filesystem::path control_group_;
};

}  // namespace tunebench::integration
