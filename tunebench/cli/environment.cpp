#include "tunebench/cli/environment.h"

#include "tunebench/base/build_info.h"
#include "tunebench/base/gzip.h"
#include "tunebench/hardware/environment.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

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

}  // namespace tunebench::cli
