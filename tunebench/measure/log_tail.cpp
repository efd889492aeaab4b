#include "tunebench/measure/log_tail.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "tunebench/base/text.h"

namespace tunebench::measure {
namespace {

constexpr std::size_t kLongestLine = 200;

/// At a code point, so that the cut line stays valid text.
std::string cut(std::string line) {
  if (line.size() <= kLongestLine) {
    return line;
  }
  std::size_t end = kLongestLine;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return line.substr(0, end) + "...";
}

}  // namespace

std::string read_log_end(const std::filesystem::path& file, std::int64_t bytes) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) {
    return "";
  }
  const std::int64_t size = static_cast<std::int64_t>(stream.tellg());
  stream.seekg(std::max<std::int64_t>(0, size - bytes));
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string last_lines(std::string_view log, std::size_t lines) {
  std::vector<std::string> kept;
  for (const std::string& line : split(log, '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty()) {
      kept.push_back(cut(printable(text)));
    }
  }
  if (kept.size() > lines) {
    kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(lines));
  }
  return join(kept, "\n");
}

}  // namespace tunebench::measure
