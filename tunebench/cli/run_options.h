#pragma once

#include <map>
#include <memory>
#include <optional>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/measure/idle.h"
#include "tunebench/trainer/trainer_set.h"

namespace tunebench::cli {

/// The options of `tunebench run` that are no inputs of an experiment.
std::vector<config::OptionSpec> run_options();

/// Reads what run_options() and the inputs say; all mistakes are told. Where something cannot be
/// read a legal value stands in for it, so that the other mistakes are found too.
campaign::Request request_of(const config::CommandLine& line, Diagnostics& problems);

/// What the input `trainer` names, one or several; the native one in place of one that is wrong.
/// `stored`: texts of files by name, which stand in for the files; nullptr: none. The text that was
/// read is added to `texts`.
std::unique_ptr<trainer::TrainerSet> trainers_of(const config::CommandLine& line,
                                                 const campaign::Request& request,
                                                 const std::map<std::string, std::string>* stored,
                                                 std::map<std::string, std::string>& texts,
                                                 Diagnostics& problems);

/// --wait-idle and --if-busy: what to do when something else uses the machine.
measure::IdleRules idle_rules_of(const config::CommandLine& line, Diagnostics& problems);

config::OptionSpec price_option();
/// --price; nullopt when it was not given.
std::optional<double> price_of(const config::CommandLine& line, Diagnostics& problems);

}  // namespace tunebench::cli
