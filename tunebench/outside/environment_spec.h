#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunebench::outside {

/// What one environment of Python packages holds.
struct EnvironmentSpec {
  std::string trainer;               ///< "hf"
  std::string version;               ///< of the trainer's main package: "5.24.0"
  std::string lock;                  ///< requirements file: exact versions with hashes
  std::vector<std::string> imports;  ///< modules that must import
  std::string size;                  ///< about what it takes on disk, for people: "6 GB"

  /// "hf-5.24.0": what people call it.
  [[nodiscard]] std::string name() const { return trainer + "-" + version; }
  /// First 8 digits of the lock's SHA-256: other packages are another environment.
  [[nodiscard]] std::string lock_id() const;
  /// Name and version of every package of the lock, names in lower case with dashes.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> packages() const;
};

/// All environments that this version can make.
const std::vector<EnvironmentSpec>& environment_specs();
/// By name ("hf-5.24.0") or by trainer ("hf"). nullptr when there is none.
const EnvironmentSpec* find_environment_spec(std::string_view name);

/// "Name==1.0 ; marker \" to name and version; lines with hashes and comments are none.
std::vector<std::pair<std::string, std::string>> packages_of_lock(std::string_view lock);

/// A package's name as registries compare it: lower case, dashes for dots and underscores.
std::string normal_package_name(std::string_view name);

}  // namespace tunebench::outside
