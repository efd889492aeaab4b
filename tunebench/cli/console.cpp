#include "tunebench/cli/console.h"

#include <ostream>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/secrets.h"

namespace tunebench::cli {

void print_problems(Console& console, const Diagnostics& problems) {
  for (const Diagnostic& problem : problems) {
    console.err << "tunebench: " << mask_secrets(problem.text_block()) << "\n";
  }
  if (problems.size() > 1) {
    console.err << problems.size() << " mistakes. Nothing was run.\n";
  }
}

void write_result(Console& console, const std::string& text, const std::string& file) {
  if (!file.empty() && file != "-") {
    write_file_atomically(file, text);
    return;
  }
  console.out << text << std::flush;
  if (!console.out) {
    throw Error(ErrorCode::Io, "standard output cannot be written");
  }
}

}  // namespace tunebench::cli
