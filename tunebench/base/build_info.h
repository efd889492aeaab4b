#pragma once

#include <string>

namespace tunebench {

/// How this program was built; part of every record.
struct BuildInfo {
  std::string version;     ///< 0.1.0
  std::string commit;      ///< short git commit, "unknown" outside a checkout
  bool dirty = false;      ///< built from a checkout with local changes
  std::string compiler;    ///< GNU 12.2.0
  std::string build_type;  ///< Release
  std::string sanitizer;   ///< "address,undefined", "thread" or empty
};

const BuildInfo& build_info();

}  // namespace tunebench
