#include "tunebench/cli/results.h"

#include "tunebench/base/error.h"

namespace tunebench::cli {

std::unique_ptr<store::Store> open_for_reading(const config::CommandLine& line) {
  const std::string location = store::default_store_location(line.value("store"));
  std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::ReadOnly);
  try {
    store::open_store(location, store::OpenMode::Existing)->mark_dead_runs();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io) {
      throw;
    }
    // A store that may only be read is shown as it is.
  }
  return store;
}

config::OptionSpec simulated_option() {
  return {.name = "simulated",
          .takes_value = false,
          .help = "also what trainer simulated made; its numbers are those of a model"};
}

}  // namespace tunebench::cli
