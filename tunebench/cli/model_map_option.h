#pragma once

#include <map>
#include <string>
#include <vector>

#include "tunebench/campaign/request.h"
#include "tunebench/cli/command.h"
#include "tunebench/hub/model_map.h"

namespace tunebench::cli {

/// --models FILE
config::OptionSpec models_option();

/// The names built in and those of the user. Mistakes are told.
hub::ModelMap model_map_of(const config::CommandLine& line, Diagnostics& problems);

/// Puts sources in place of the names that the user's file gives, and for experiments on quantized
/// weights in place of those built in whose folder is here; a note tells of each. `stored`: the
/// texts of files when the run was begun; the file's text is added to `texts`.
void place_models(const config::CommandLine& line, const std::map<std::string, std::string>* stored,
                  std::map<std::string, std::string>& texts, campaign::Request& request,
                  std::vector<std::string>& notes, Diagnostics& problems);

}  // namespace tunebench::cli
