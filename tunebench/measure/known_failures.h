#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/record/record.h"

namespace tunebench::measure {

/// A text that trainers and their libraries write when they fail, and what it means.
struct KnownFailure {
  std::string_view text;  ///< looked for without regard to case
  record::Outcome outcome;
};
/// In the order they are tried: the cause before what follows from it (a rank that runs out of
/// memory makes the others report a failed collective).
const std::vector<KnownFailure>& known_failures();

/// The same for the line that says why a program failed (error_line, else its last line): words
/// that elsewhere in a log prove nothing. Nearly all mean that the same run would fail again.
const std::vector<KnownFailure>& known_error_lines();

/// What a failed trainer's output says: the outcome and the line that says so.
struct FoundFailure {
  record::Outcome outcome;
  std::string line;
};
std::optional<FoundFailure> find_known_failure(std::string_view log);
/// The same of one line, by known_error_lines().
std::optional<FoundFailure> find_known_error(std::string_view line);

}  // namespace tunebench::measure
