#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/outside/stack.h"

namespace tunebench::outside {
namespace {

/// Beyond the names of all inputs.
const std::vector<std::string>& own_placeholders() {
  static const std::vector<std::string> kNames{"output_dir", "job_file", "planned_steps",
                                               "repeat",     "attempt",  "port"};
  return kNames;
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos;
}

std::string value_text(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.as_string() : value.dump();
}

std::string placeholder_value(std::string_view name, const LaunchContext& context) {
  const trainer::Job& job = context.job;
  if (name == "output_dir") {
    return (context.folder / "output").string();
  }
  if (name == "job_file") {
    return (context.folder / "job.json").string();
  }
  if (name == "planned_steps") {
    return std::to_string(job.planned_steps);
  }
  if (name == "repeat") {
    return std::to_string(job.repeat);
  }
  if (name == "attempt") {
    return std::to_string(job.attempt);
  }
  if (name == "port") {
    return std::to_string(context.port);
  }
  return value_text(job.point.input(name));
}

/// Calls `literal` and `name` for the parts of one word. Braces that enclose no name stand for
/// themselves, so that JSON can be given; "{{name}}" is the text "{name}".
template <typename Literal, typename Name>
void for_parts(std::string_view word, const Literal& literal, const Name& name) {
  while (!word.empty()) {
    const std::size_t open = word.find('{');
    literal(word.substr(0, open));
    if (open == std::string_view::npos) {
      return;
    }
    word.remove_prefix(open);
    const std::size_t close = word.find('}');
    const bool doubled = word.starts_with("{{");
    const std::string_view inner = close == std::string_view::npos ? "" : word.substr(1, close - 1);
    if (doubled && close != std::string_view::npos && word.substr(close).starts_with("}}") &&
        is_name(word.substr(2, close - 2))) {
      literal(word.substr(1, close));
      word.remove_prefix(close + 2);
    } else if (is_name(inner)) {
      name(inner);
      word.remove_prefix(close + 1);
    } else {
      literal("{");
      word.remove_prefix(1);
    }
  }
}

class CommandStack final : public Stack {
 public:
  explicit CommandStack(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  [[nodiscard]] std::string name() const override { return "command"; }
  [[nodiscard]] const EnvironmentSpec* environment() const override { return nullptr; }
  [[nodiscard]] bool reads_files() const override { return false; }

  /// The command, and what is in the files that it names: an edited script is another trainer.
  [[nodiscard]] std::string version() const override {
    constexpr std::uintmax_t kLargestFile = std::uintmax_t{64} << 20U;
    constexpr std::size_t kDigits = 16;
    std::string all;
    for (const std::string& word : argv_) {
      all += word + '\0';
      std::error_code problem;
      if (std::filesystem::is_regular_file(word, problem) &&
          std::filesystem::file_size(word, problem) <= kLargestFile && !problem) {
        all += sha256_file_hex(word);
      }
    }
    return sha256_hex(all).substr(0, kDigits);
  }

  [[nodiscard]] Launch launch(const LaunchContext& context) const override {
    Launch launch;
    for (const std::string& word : argv_) {
      std::string text;
      for_parts(
          word, [&text](std::string_view literal) { text += literal; },
          [&](std::string_view name) { text += placeholder_value(name, context); });
      launch.argv.push_back(std::move(text));
    }
    return launch;
  }

  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return {.ranks = 0, .device = device_of(point)};
  }

 private:
  std::vector<std::string> argv_;
};

}  // namespace

std::unique_ptr<Stack> make_command_stack(std::vector<std::string> argv) {
  if (argv.empty() || argv.front().empty()) {
    throw Error(ErrorCode::InvalidInput,
                "the program is missing: --trainer command -- PROGRAM [ARGUMENTS]");
  }
  std::vector<std::string> known = own_placeholders();
  for (const experiment::Property& property : experiment::properties()) {
    known.push_back(property.name);
  }
  for (const std::string& word : argv) {
    for_parts(
        word, [](std::string_view) {},
        [&](std::string_view name) {
          if (std::ranges::find(known, name) == known.end()) {
            const std::string hint = did_you_mean(name, known);
            throw Error(ErrorCode::InvalidInput,
                        fmt::format("unknown placeholder '{{{}}}' in '{}'{}{}", name,
                                    printable(word), hint.empty() ? "" : " - ", hint));
          }
        });
  }
  return std::make_unique<CommandStack>(std::move(argv));
}

}  // namespace tunebench::outside
