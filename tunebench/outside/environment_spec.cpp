#include "tunebench/outside/environment_spec.h"

#include <algorithm>

#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/outside/embedded.h"

namespace tunebench::outside {

std::string EnvironmentSpec::lock_id() const {
  constexpr std::size_t kDigits = 8;
  return sha256_hex(lock).substr(0, kDigits);
}

std::vector<std::pair<std::string, std::string>> EnvironmentSpec::packages() const {
  return packages_of_lock(lock);
}

const std::vector<EnvironmentSpec>& environment_specs() {
  static const std::vector<EnvironmentSpec> kSpecs{
      {.trainer = "hf",
       .version = "5.24.0",
       .lock = std::string(embedded_file("hf-5.24.0.txt")),
       .imports = {"torch", "transformers", "accelerate", "peft"},
       .size = "6 GB"},
      {.trainer = "fms-hf-tuning",
       .version = "3.2.2",
       .lock = std::string(embedded_file("fms-hf-tuning-3.2.2.txt")),
       .imports = {"torch", "transformers", "accelerate", "peft", "trl", "tuning.sft_trainer"},
       .size = "7 GB"}};
  return kSpecs;
}

const EnvironmentSpec* find_environment_spec(std::string_view name) {
  const std::vector<EnvironmentSpec>& specs = environment_specs();
  const auto found = std::ranges::find_if(specs, [name](const EnvironmentSpec& spec) {
    return spec.name() == name || spec.trainer == name;
  });
  return found == specs.end() ? nullptr : &*found;
}

std::string normal_package_name(std::string_view name) {
  std::string normal = lower_ascii(name);
  std::ranges::replace(normal, '_', '-');
  std::ranges::replace(normal, '.', '-');
  return normal;
}

std::vector<std::pair<std::string, std::string>> packages_of_lock(std::string_view lock) {
  std::vector<std::pair<std::string, std::string>> packages;
  for (const std::string& line : split(lock, '\n')) {
    const std::size_t equals = line.find("==");
    if (equals == std::string::npos || line.starts_with('#') || line.starts_with(' ')) {
      continue;
    }
    const std::string version = line.substr(equals + 2);
    packages.emplace_back(normal_package_name(trim(line.substr(0, equals))),
                          version.substr(0, version.find_first_of(" ;\\")));
  }
  return packages;
}

}  // namespace tunebench::outside
