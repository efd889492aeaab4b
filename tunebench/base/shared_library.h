#pragma once

#include <string>
#include <string_view>

namespace tunebench {

/// A library that is opened by its name when it is first needed, as what it brings with it would
/// cost every start of the program. Never closed: such libraries do not expect to be.
class SharedLibrary {
 public:
  /// `need` begins the message: "fetching models needs libcurl".
  /// Errors: Unsupported with the Debian package to install when it is not there.
  SharedLibrary(std::string name, std::string_view need, std::string_view package);

  /// Sets `function` to the one of that name. Errors: Unsupported when there is none.
  template <typename Function>
  void load(const char* function_name, Function& function) const {
    function = reinterpret_cast<Function>(address_of(function_name));  // NOLINT: dlsym's contract
  }

 private:
  [[nodiscard]] void* address_of(const char* function_name) const;

  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace tunebench
