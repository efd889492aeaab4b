#include "tunebench/cli/console.h"

#include <exception>
#include <ostream>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/config/command_line.h"

namespace tunebench::cli {

void print_problems(Console& console, const Diagnostics& problems) {
  for (const Diagnostic& problem : problems) {
    console.err << "tunebench: " << mask_secrets(problem.text_block()) << "\n";
  }
  if (problems.size() > 1) {
    console.err << problems.size() << " mistakes. Nothing was run.\n";
  }
}

void print_notes(Console& console, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    console.err << "note: " << mask_secrets(printable(note)) << "\n";
  }
}

std::string typed_command(const std::vector<std::string>& words) {
  std::vector<std::string> all{"tunebench"};
  all.insert(all.end(), words.begin(), words.end());
  return config::shell_line(mask_secrets(std::move(all)));
}

int guarded(Console& console, const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    console.err << "tunebench: " << mask_secrets(error.message()) << "\n";
    if (error.code() != ErrorCode::Internal) {
      return kUsage;
    }
    console.err << "this is a bug of tunebench (" << error.where().file << ":" << error.where().line
                << ")\n";
    return kOurBug;
  } catch (const std::exception& error) {
    console.err << "tunebench: " << mask_secrets(error.what()) << "\n";
    return kOurBug;
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
