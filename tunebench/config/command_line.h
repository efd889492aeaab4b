#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"

namespace tunebench::config {

/// One option of a command. Long names are written with dashes or underscores alike.
struct OptionSpec {
  std::string name;                       ///< "model_name": the option --model-name, and its id
  std::vector<std::string> aliases = {};  ///< "-m", "--model"
  bool takes_value = true;                ///< false: a flag
  std::string value_name = {};            ///< what stands for the value in the help: "N", "FILE"
  std::string help = {};                  ///< one sentence or two; wrapped when shown
  std::string group = {};                 ///< heading in the help; empty: "options"
  bool repeatable = false;                ///< may be given several times
};

/// One word of the command line that is no option.
struct ArgumentSpec {
  std::string name;  ///< "FILE"
  std::string help = {};
  bool required = true;
  bool repeats = false;  ///< the last argument: any number of words
};

/// A command of one word ("run") or two ("models import").
struct CommandSpec {
  std::string name;
  std::string summary = {};  ///< one line, for the list of commands
  std::string details = {};  ///< what the command's own help says beyond that
  std::vector<ArgumentSpec> arguments = {};
  std::vector<OptionSpec> options = {};
  std::vector<std::string> examples = {};  ///< whole command lines
  /// What the words after "--" are, for the help ("PROGRAM [ARGUMENTS]"); empty: arguments as
  /// others.
  std::string words_after = {};
  bool hidden = false;  ///< not in the list of commands
};

/// An option as the user gave it.
struct GivenOption {
  std::string name;     ///< OptionSpec::name
  std::string spelled;  ///< "--batch", for messages
  std::string value;    ///< empty for a flag
};

/// What one command line says. `--help` is an option of every command and not in its list.
struct CommandLine {
  bool help = false;
  std::vector<GivenOption> options;
  std::vector<std::string> arguments;
  std::vector<std::string> words_after;  ///< as given after "--", where the command takes them

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The first of that name; nullptr when it was not given.
  [[nodiscard]] const GivenOption* find(std::string_view name) const;
  /// The value, or `otherwise` when it was not given.
  [[nodiscard]] std::string value(std::string_view name, std::string_view otherwise = "") const;
  /// All values of a repeatable option, as given.
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> argument(std::size_t index) const;
};

/// Finds the command that `words` starts with, the longest name first, and says how many words it
/// took. nullptr and a diagnostic with the nearest command when there is none.
struct FoundCommand {
  const CommandSpec* command = nullptr;
  std::size_t words = 0;
};
FoundCommand find_command(std::span<const CommandSpec> commands, std::span<const std::string> words,
                          Diagnostics& problems);

/// Reads the words after the command's name. All mistakes are reported: unknown options with the
/// nearest one, options given twice, values missing, arguments missing or too many. With --help
/// nothing is missing.
CommandLine parse_command_line(const CommandSpec& command, std::span<const std::string> words,
                               Diagnostics& problems);

/// "--model-name, -m, --model NAME": how an option is shown.
std::string option_usage(const OptionSpec& option);

/// Help of one command: usage, arguments, options by group, examples. Lines of at most `width`.
std::string command_help(const CommandSpec& command, std::size_t width);

/// Help of the program: the list of commands.
std::string program_help(std::span<const CommandSpec> commands);

/// Text broken at blanks into lines of at most `width` columns, each after the first indented.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

/// The words as one line that a shell reads back as the same words.
std::string shell_line(std::span<const std::string> words);

}  // namespace tunebench::config
