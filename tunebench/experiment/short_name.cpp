#include "tunebench/experiment/short_name.h"

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"

namespace tunebench::experiment {

std::string short_name(std::string_view property) {
  const Property* found = find_property(property);
  if (found != nullptr) {
    for (const std::string& option : split(found->short_options, ',')) {
      if (option.starts_with("--") && option.size() > 2) {
        return option.substr(2);
      }
    }
  }
  return std::string(property);
}

}  // namespace tunebench::experiment
