#pragma once

#include <vector>

#include "tunebench/config/command_line.h"

namespace tunebench::plans {

/// Some options as `run` has them.
inline std::vector<config::OptionSpec> test_options() {
  return {{.name = "repeats", .value_name = "N", .help = "valid measurements wanted"},
          {.name = "until", .value_name = "PERCENT", .help = "repeat until"},
          {.name = "order", .value_name = "grid|random", .help = "order of the points"},
          {.name = "order_seed", .value_name = "N", .help = "of --order random"},
          {.name = "fresh", .takes_value = false, .help = "measure also what is known"},
          {.name = "force", .takes_value = false, .help = "start also what does not fit"},
          {.name = "timeout", .value_name = "SECONDS", .help = "longest time"},
          {.name = "experiment", .value_name = "ID", .help = "what is measured"},
          {.name = "json", .takes_value = false, .help = "no key of a plan"}};
}

}  // namespace tunebench::plans
