#include "tunebench/config/command_line.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::config {

namespace {

/// "model_name" -> "--model-name".
std::string long_name(const OptionSpec& option) {
  std::string name = "--" + option.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<std::string> spellings(const OptionSpec& option) {
  std::vector<std::string> names{long_name(option)};
  names.insert(names.end(), option.aliases.begin(), option.aliases.end());
  return names;
}

bool is_long(std::string_view word) {
  return word.size() > 2 && word.substr(0, 2) == "--";
}

/// Dashes for underscores in the name part of a long option.
std::string with_dashes(std::string_view word) {
  std::string text(word);
  if (is_long(word)) {
    const std::size_t end = std::min(text.find('='), text.size());
    std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  }
  return text;
}

OptionSpec help_option() {
  return {.name = "help",
          .aliases = {"-h"},
          .takes_value = false,
          .value_name = "",
          .help = "show this help",
          .group = ""};
}

/// The parser of one command, with the options as CLI11 knows them.
struct Parser {
  CLI::App app;
  std::vector<OptionSpec> options;
  std::vector<std::vector<std::string>> values;
  std::vector<CLI::Option*> handles;
  std::vector<std::string> names;  ///< every spelling of every option

  explicit Parser(const CommandSpec& command) : options(command.options) {
    options.push_back(help_option());
    app.set_help_flag();
    app.allow_extras();
    values.resize(options.size());
    for (std::size_t i = 0; i < options.size(); ++i) {
      const std::vector<std::string> all = spellings(options[i]);
      names.insert(names.end(), all.begin(), all.end());
      const std::string text = join(all, ",");
      CLI::Option* handle = options[i].takes_value ? app.add_option(text)->type_size(1)->expected(1)
                                                   : app.add_flag(text);
      handles.push_back(handle->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
    }
  }

  [[nodiscard]] const OptionSpec* find(std::string_view word) const {
    for (const OptionSpec& option : options) {
      const std::vector<std::string> all = spellings(option);
      if (std::find(all.begin(), all.end(), word) != all.end()) {
        return &option;
      }
    }
    return nullptr;
  }
};

/// What the user typed for an option, for messages.
std::string spelled_as(const Parser& parser, const OptionSpec& option,
                       std::span<const std::string> words) {
  for (const std::string& word : words) {
    const std::string name = with_dashes(word.substr(0, word.find('=')));
    if (parser.find(name) == &option) {
      return word.substr(0, word.find('='));
    }
  }
  return long_name(option);
}

/// Stands before each value that CLI11 gets, which takes "-tokens_per_s" for an option otherwise.
constexpr char kValueMark = '\x01';

/// Words as CLI11 gets them: names with dashes, "--name=value" as two words so that an empty value
/// stays one, values marked, and without options that lack their value, which are diagnosed here.
std::vector<std::string> prepare(const Parser& parser, std::span<const std::string> words,
                                 Diagnostics& problems) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::string word = with_dashes(words[i]);
    const std::size_t equals = is_long(word) ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const OptionSpec* option = parser.find(name);
    if (option == nullptr) {
      result.push_back(words[i]);
    } else if (!option->takes_value) {
      if (equals != std::string::npos) {
        problems.push_back({name, "takes no value", ""});
      }
      result.push_back(name);
    } else if (equals != std::string::npos) {
      result.push_back(name);
      result.push_back(kValueMark + word.substr(equals + 1));
    } else if (i + 1 == words.size() || parser.find(with_dashes(words[i + 1])) != nullptr) {
      problems.push_back(
          {words[i], fmt::format("needs a value: {} {}", words[i], option->value_name), ""});
    } else {
      result.push_back(name);
      result.push_back(kValueMark + words[++i]);
    }
  }
  return result;
}

/// Words that no option took: unknown options are diagnosed, the rest are arguments.
std::vector<std::string> arguments_of(const std::vector<std::string>& left, const Parser& parser,
                                      bool needs_arguments, Diagnostics& problems) {
  std::vector<std::string> arguments;
  bool only_arguments = false;
  bool after_unknown = false;
  for (const std::string& word : left) {
    if (!only_arguments && word == "--") {
      only_arguments = true;
    } else if (!only_arguments && word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      problems.push_back({"", fmt::format("unknown option '{}'", printable(name)),
                          is_long(name) ? did_you_mean(with_dashes(name), parser.names) : ""});
      after_unknown = name.size() == word.size();
      continue;
    } else if (after_unknown && !needs_arguments) {
      // The value of the unknown option before it: one mistake, one line.
    } else {
      arguments.push_back(word);
    }
    after_unknown = false;
  }
  return arguments;
}

void check_arguments(const CommandSpec& command, const std::vector<std::string>& arguments,
                     Diagnostics& problems) {
  const bool any_number = !command.arguments.empty() && command.arguments.back().repeats;
  for (std::size_t i = command.arguments.size(); i < arguments.size() && !any_number; ++i) {
    problems.push_back({"", fmt::format("unexpected argument '{}'", printable(arguments[i])), ""});
  }
  for (std::size_t i = arguments.size(); i < command.arguments.size(); ++i) {
    if (command.arguments[i].required) {
      problems.push_back({"", fmt::format("{} is missing", command.arguments[i].name), ""});
    }
  }
}

/// What may follow a first word.
std::vector<std::string> second_words(std::span<const CommandSpec> commands,
                                      std::string_view first) {
  std::vector<std::string> seconds;
  const std::string prefix = std::string(first) + ' ';
  for (const CommandSpec& command : commands) {
    if (!command.hidden && command.name.starts_with(prefix)) {
      seconds.push_back(command.name.substr(prefix.size()));
    }
  }
  return seconds;
}

Diagnostic unknown_second_word(std::string_view first, const std::string& word,
                               const std::vector<std::string>& seconds) {
  const std::string hint = did_you_mean(word, seconds);
  return {"", fmt::format("unknown command '{} {}'", first, printable(word)),
          hint.empty() ? fmt::format("there is {} {}", first, join(seconds, ", ")) : hint};
}

/// "models imprt": a command without arguments of its own is followed by a word, and others begin
/// with its name.
void check_second_word(std::span<const CommandSpec> commands, FoundCommand& found,
                       std::span<const std::string> words, Diagnostics& problems) {
  if (!found.command->arguments.empty() || words.size() <= found.words ||
      words[found.words].starts_with('-')) {
    return;
  }
  const std::vector<std::string> seconds = second_words(commands, found.command->name);
  if (!seconds.empty()) {
    problems.push_back(unknown_second_word(found.command->name, words[found.words], seconds));
    found.command = nullptr;
  }
}

/// "baseline lst": no command has this name, but others begin with it.
Diagnostic unknown_command(std::span<const CommandSpec> commands,
                           std::span<const std::string> words,
                           const std::vector<std::string>& candidates) {
  const std::string word = words.empty() ? std::string() : words[0];
  const std::vector<std::string> seconds = second_words(commands, word);
  if (seconds.empty()) {
    return {"", fmt::format("unknown command '{}'", printable(word)),
            did_you_mean(word, candidates)};
  }
  if (words.size() == 1 || words[1].starts_with('-')) {
    return {"", fmt::format("'{}' is the beginning of a command", word),
            fmt::format("there is {} {}", word, join(seconds, ", "))};
  }
  return unknown_second_word(word, words[1], seconds);
}

}  // namespace

const GivenOption* CommandLine::find(std::string_view name) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const GivenOption& given) { return given.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::string CommandLine::value(std::string_view name, std::string_view otherwise) const {
  const GivenOption* given = find(name);
  return given == nullptr ? std::string(otherwise) : given->value;
}

std::vector<std::string> CommandLine::values(std::string_view name) const {
  std::vector<std::string> all;
  for (const GivenOption& given : options) {
    if (given.name == name) {
      all.push_back(given.value);
    }
  }
  return all;
}

std::optional<std::string> CommandLine::argument(std::size_t index) const {
  return index < arguments.size() ? std::optional(arguments[index]) : std::nullopt;
}

FoundCommand find_command(std::span<const CommandSpec> commands, std::span<const std::string> words,
                          Diagnostics& problems) {
  FoundCommand found;
  std::vector<std::string> candidates;
  for (const CommandSpec& command : commands) {
    const std::vector<std::string> parts = split(command.name, ' ');
    if (!command.hidden &&
        std::find(candidates.begin(), candidates.end(), parts[0]) == candidates.end()) {
      candidates.push_back(parts[0]);
    }
    if (parts.size() <= words.size() && parts.size() > found.words &&
        std::equal(parts.begin(), parts.end(), words.begin())) {
      found = {&command, parts.size()};
    }
  }
  if (found.command == nullptr) {
    problems.push_back(unknown_command(commands, words, candidates));
  } else {
    check_second_word(commands, found, words, problems);
  }
  return found;
}

CommandLine parse_command_line(const CommandSpec& command, std::span<const std::string> words,
                               Diagnostics& problems) {
  if (const auto dashes = std::find(words.begin(), words.end(), "--");
      !command.words_after.empty() && dashes != words.end()) {
    const auto before = static_cast<std::size_t>(dashes - words.begin());
    CommandSpec without = command;
    without.words_after.clear();
    CommandLine line = parse_command_line(without, words.first(before), problems);
    line.words_after.assign(dashes + 1, words.end());
    return line;
  }
  Parser parser(command);
  std::vector<std::string> prepared = prepare(parser, words, problems);
  std::reverse(prepared.begin(), prepared.end());
  CommandLine line;
  try {
    parser.app.parse(prepared);
  } catch (const CLI::ParseError& error) {
    problems.push_back({"", error.what(), ""});
    return line;
  }
  for (std::size_t i = 0; i < parser.options.size(); ++i) {
    const OptionSpec& option = parser.options[i];
    std::vector<std::string> results = parser.handles[i]->results();
    if (option.takes_value) {
      for (std::string& result : results) {
        result.erase(0, result.starts_with(kValueMark) ? 1 : 0);  // "-b4" has none
      }
    }
    if (results.empty()) {
      continue;
    }
    const std::string spelled = spelled_as(parser, option, words);
    if (option.takes_value && results.size() > 1 && !option.repeatable) {
      problems.push_back(
          {spelled,
           fmt::format("given {} times ({})", results.size(), printable(join(results, ", "))),
           "give it once"});
    }
    if (option.name == "help") {
      line.help = true;
      continue;
    }
    const std::size_t count = option.repeatable ? results.size() : 1;
    for (std::size_t k = 0; k < count; ++k) {
      line.options.push_back({option.name, spelled, option.takes_value ? results[k] : ""});
    }
  }
  const bool needs_arguments = !command.arguments.empty() && command.arguments.front().required;
  line.arguments = arguments_of(parser.app.remaining(), parser, needs_arguments, problems);
  if (!line.help) {
    check_arguments(command, line.arguments, problems);
  }
  return line;
}

std::string option_usage(const OptionSpec& option) {
  const std::string names = join(spellings(option), ", ");
  return option.takes_value ? names + " " + option.value_name : names;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) {
      continue;
    }
    const std::size_t columns = display_width(word);
    const bool first = result.empty();
    if (!first && column + 1 + columns > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      result += " ";
      ++column;
    }
    result += word;
    column += columns;
  }
  return result;
}

std::string command_help(const CommandSpec& command, std::size_t width) {
  std::string usage = "usage: tunebench " + command.name;
  for (const ArgumentSpec& argument : command.arguments) {
    const std::string name = argument.name + (argument.repeats ? "..." : "");
    usage += argument.required ? " " + name : " [" + name + "]";
  }
  const std::string after = command.words_after.empty() ? "" : " [-- " + command.words_after + "]";
  std::string text =
      fmt::format("{} [options]{}\n\n{}\n", usage, after, wrap(command.summary, 0, width));
  if (!command.details.empty()) {
    text += wrap(command.details, 0, width) + "\n";
  }
  if (!command.arguments.empty()) {
    text += "\narguments:\n";
    for (const ArgumentSpec& argument : command.arguments) {
      text += fmt::format("  {}\n      {}\n", argument.name, wrap(argument.help, 6, width));
    }
  }
  std::vector<OptionSpec> options = command.options;
  options.push_back(help_option());
  std::vector<std::string> groups;
  for (const OptionSpec& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group.empty() ? "options" : group);
    for (const OptionSpec& option : options) {
      if (option.group == group) {
        text += fmt::format("  {}\n      {}\n", option_usage(option), wrap(option.help, 6, width));
      }
    }
  }
  if (!command.examples.empty()) {
    text += "\nexamples:\n";
    for (const std::string& example : command.examples) {
      text += "  " + example + "\n";
    }
  }
  return text;
}

std::string program_help(std::span<const CommandSpec> commands) {
  std::string text =
      "tunebench measures what it costs to fine-tune a language model.\n\n"
      "usage: tunebench COMMAND [options]\n\ncommands:\n";
  std::size_t widest = 0;
  for (const CommandSpec& command : commands) {
    widest = command.hidden ? widest : std::max(widest, command.name.size());
  }
  for (const CommandSpec& command : commands) {
    if (!command.hidden) {
      text += fmt::format("  {:<{}}  {}\n", command.name, widest, command.summary);
    }
  }
  text +=
      "\noptions:\n  --version  show the version\n  --help     show this help, or that of a "
      "command\n"
      "\nstart here:\n  tunebench run --model tiny --length 32,64 --batch 1,2\n";
  return text;
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-./=,:+@%") == std::string::npos;
    std::string quoted = word;
    if (!plain) {
      quoted = "'";
      for (const char letter : word) {
        quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
      }
      quoted += "'";
    }
    line += (line.empty() ? "" : " ") + quoted;
  }
  return line;
}

}  // namespace tunebench::config
