#include "tunebench/measure/error_line.h"

#include <array>
#include <cctype>
#include <optional>

#include "tunebench/base/text.h"

namespace tunebench::measure {
namespace {

/// "[rank1]: " as torch puts it before the lines of a traceback.
std::string_view without_rank(std::string_view line) {
  if (!line.starts_with("[rank")) {
    return line;
  }
  const std::size_t end = line.find("]: ");
  return end == std::string_view::npos ? line : line.substr(end + 3);
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
}

/// Begins with a dotted name that ends in Error or Exception.
bool names_error(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) {
    ++end;
  }
  const std::string_view name = line.substr(0, end);
  const bool over = end == line.size() || line[end] == ':';
  return over && (name.ends_with("Error") || name.ends_with("Exception"));
}

/// What a launcher says when one of its processes has failed: it is never the cause.
bool is_about_child(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kNames = {
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
      "subprocess.CalledProcessError", "CalledProcessError"};
  for (const std::string_view name : kNames) {
    if (line.starts_with(name)) {
      return true;
    }
  }
  return false;
}

/// "[rank1]: " when torchrun's report names rank 1 as the first that failed.
std::optional<std::string> first_failed(std::string_view log) {
  static constexpr std::string_view kReport = "Root Cause (first observed failure):";
  const std::size_t report = log.rfind(kReport);
  if (report == std::string_view::npos) {
    return std::nullopt;
  }
  for (const std::string& line : split(log.substr(report), '\n')) {
    const std::string_view text = trim(line);
    const std::size_t colon = text.find(':');
    if (text.starts_with("rank") && colon != std::string_view::npos) {
      const std::string_view number = trim(text.substr(colon + 1));
      return "[rank" + std::string(number.substr(0, number.find(' '))) + "]: ";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string error_line(std::string_view log) {
  const std::optional<std::string> rank = first_failed(log);
  std::string last;
  std::string last_of_rank;
  for (const std::string& line : split(log, '\n')) {
    const std::string_view text = trim(line);
    if (!names_error(without_rank(text)) || is_about_child(without_rank(text))) {
      continue;
    }
    last = printable(text);
    if (rank.has_value() && text.starts_with(*rank)) {
      last_of_rank = last;
    }
  }
  return last_of_rank.empty() ? last : last_of_rank;
}

}  // namespace tunebench::measure
