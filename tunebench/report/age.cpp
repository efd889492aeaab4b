#include "tunebench/report/age.h"

#include <fmt/core.h>

namespace tunebench::report {

std::string age_text(std::int64_t seconds) {
  if (seconds < 60) {
    return "now";
  }
  if (seconds < 3600) {
    return fmt::format("{} min ago", seconds / 60);
  }
  return seconds < 86400 ? fmt::format("{} h ago", seconds / 3600)
                         : fmt::format("{} d ago", seconds / 86400);
}

}  // namespace tunebench::report
