#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tunebench/base/diagnostic.h"

namespace tunebench::cli {

/// Where a command writes: results to `out`, talk to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool live = false;        ///< err is a terminal: a line may be rewritten
  std::size_t width = 100;  ///< columns of a line
};

/// What the program tells its caller.
enum ExitCode : int {
  kOk = 0,
  kUsage = 1,       ///< what the user gave or what the machine holds must change first
  kSomeFailed = 2,  ///< some points have no number
  kDifferent = 2,   ///< env diff: something differs
  kNothingMeasured = 3,
  kGateFailed = 4,  ///< compare: --fail-if
  kOurBug = 70,
  kInterrupted = 130,
};

/// One line per mistake, and how many there are when it is more than one.
void print_problems(Console& console, const Diagnostics& problems);

/// One line per note.
void print_notes(Console& console, const std::vector<std::string>& notes);

/// The command as a person can type it again, without secrets: what runs and bundles keep of it.
std::string typed_command(const std::vector<std::string>& words);

/// The exit code of the body; what it throws is told in one line.
int guarded(Console& console, const std::function<int()>& body);

/// Writes a result. `file` empty or "-": standard output; else the file appears whole or not.
/// Errors: Io.
void write_result(Console& console, const std::string& text, const std::string& file = "");

}  // namespace tunebench::cli
