#include "tunebench/cli/environment.h"

#include <array>
#include <map>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/gzip.h"
#include "tunebench/base/text.h"
#include "tunebench/hardware/environment.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {
namespace {

constexpr std::array<std::string_view, 1> kFleeting{"memory_usable_bytes"};

void flatten(const Json& value, const std::string& name, std::map<std::string, std::string>& flat) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      flatten(member, name.empty() ? key : name + "." + key, flat);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      flatten(value.as_array()[i], fmt::format("{}[{}]", name, i), flat);
    }
  } else if (!value.is_null()) {
    flat[name] = printable(value.is_string() ? value.as_string() : value.dump());
  }
}

std::string text_of(const std::map<std::string, std::string>& flat, const std::string& name) {
  const auto found = flat.find(name);
  return found == flat.end() ? "-" : found->second;
}

}  // namespace

Json environment_now(const trainer::Trainer& trainer) {
  std::string no_driver;
  const BuildInfo& build = build_info();
  Json libraries = Json::object();
  for (const auto& [name, version] : trainer::native_libraries()) {
    libraries.set(name, version);
  }
  for (const auto& [name, version] : trainer.packages()) {
    libraries.set(name, version);
  }
  libraries.set("sqlite", store::sqlite_version()).set("zlib", zlib_in_use());
  Json environment = hardware::machine_environment(hardware::system_gpus(no_driver));
  environment.set("tunebench_version", build.version)
      .set("tunebench_commit", build.commit)
      .set("tunebench_dirty", build.dirty)
      .set("compiler", build.compiler)
      .set("build_type", build.build_type)
      .set("sanitizer", build.sanitizer)
      .set("trainer", trainer.name())
      .set("trainer_version", trainer.version())
      .set("libraries", std::move(libraries));
  return environment;
}

std::vector<std::string> environment_differences(const Json& a, const Json& b) {
  std::map<std::string, std::string> left;
  std::map<std::string, std::string> right;
  flatten(a, "", left);
  flatten(b, "", right);
  std::set<std::string> names;
  for (const auto* flat : {&left, &right}) {
    for (const auto& [name, value] : *flat) {
      names.insert(name);
    }
  }
  for (const std::string_view name : kFleeting) {
    names.erase(std::string(name));
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    const std::string before = text_of(left, name);
    const std::string after = text_of(right, name);
    if (before != after) {
      lines.push_back(fmt::format("{}: {} -> {}", printable(name), before, after));
    }
  }
  return lines;
}

}  // namespace tunebench::cli
