#pragma once

#include <cstdint>
#include <string>

namespace tunebench::report {

/// "3 d ago", "5 min ago", "now".
std::string age_text(std::int64_t seconds);

}  // namespace tunebench::report
