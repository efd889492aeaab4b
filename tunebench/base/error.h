#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace tunebench {

/// What a caller can do about a failure, not where it happened.
enum class ErrorCode {
  InvalidInput,  ///< what the user gave is wrong: correct it and try again
  NotFound,      ///< a named thing does not exist: name another one
  Unsupported,   ///< understood, but this build, trainer or machine cannot do it
  OutOfMemory,   ///< a smaller point may fit
  Io,            ///< the operating system refused: free space, fix rights, try again
  Corrupt,       ///< a file breaks its own format: get it again
  Device,        ///< the accelerator failed: restart the process that holds it
  Internal,      ///< our bug
};

/// Where an error was thrown. std::source_location is not used because clang-tidy 14 cannot read
/// libstdc++ 12's.
struct SourceLocation {
  const char* file = "";
  int line = 0;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// The only exception type of this program. The message is one line for a user: what is wrong,
/// where, then the remedy if there is one; lower case, no full stop.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, SourceLocation where = SourceLocation::current());

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const SourceLocation& where() const noexcept { return where_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

  /// Puts `note` and ": " before the message: "loading model.safetensors: file is cut off".
  void add_context(std::string_view note);

 private:
  ErrorCode code_;
  std::string message_;
  SourceLocation where_;
};

/// Runs `body`; an Error that leaves it carries `note` in front.
template <typename Body>
decltype(auto) with_context(std::string_view note, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(note);
    throw;
  }
}

[[noreturn]] void throw_check_failed(const char* condition, SourceLocation where);

}  // namespace tunebench

/// Always on; throws Error(Internal). For our own bugs only, never for what a user gave.
#define TB_CHECK(condition)                                                                \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      ::tunebench::throw_check_failed(#condition, ::tunebench::SourceLocation::current()); \
    }                                                                                      \
  } while (false)

/// As TB_CHECK, in debug and sanitizer builds only: for inner loops.
#if defined(NDEBUG)
#define TB_DCHECK(condition) static_cast<void>(0)
#else
#define TB_DCHECK(condition) TB_CHECK(condition)
#endif
