#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::outside {

/// Paths of a run of fms-hf-tuning.
struct FmsPaths {
  std::string model;
  std::string data;
  std::string output;
  std::string work_folder;  ///< of the reference system's files
  std::string entity;       ///< its name of the point
};

using Flags = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// The flags that the reference system's actuator 1.8.12 starts its wrapper with, in its order: a
/// null is left out, a list gives several words. Source: its command line as recorded for the five
/// experiments.
Flags reference_flags(const experiment::Point& point, const FmsPaths& paths);

/// What is given to fms-hf-tuning 3.2.2 for the same point: without the flags that the reference's
/// wrapper keeps for itself or that 3.2.2 drops silently, with those that make the run what it was
/// asked to be.
Flags fms_flags(const experiment::Point& point, const FmsPaths& paths, std::int64_t steps);

/// "--name word word": as words.
std::vector<std::string> flag_words(const Flags& flags);

/// The accelerate configuration of the reference system for several processes of one node, as the
/// JSON text that it writes. Source: the same.
std::string accelerate_config(const experiment::Point& point, std::int64_t processes, int port);

/// A value as Python's str() writes it: True, 1e-05, -1.0.
std::string python_text(const Json& value);

}  // namespace tunebench::outside
