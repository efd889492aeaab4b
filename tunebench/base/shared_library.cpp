#include "tunebench/base/shared_library.h"

#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench {

SharedLibrary::SharedLibrary(std::string name, std::string_view need, std::string_view package)
    : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}, which is not here ({}); install it, on Debian: apt-get install {}",
                            need, printable(dlerror()), package));
  }
}

void* SharedLibrary::address_of(const char* function_name) const {
  void* address = dlsym(handle_, function_name);
  if (address == nullptr) {
    throw Error(ErrorCode::Unsupported, fmt::format("{} has no {}", name_, function_name));
  }
  return address;
}

}  // namespace tunebench
