#define PCRE2_CODE_UNIT_WIDTH 8  // NOLINT(readability-identifier-naming): the name PCRE2 looks for

#include "tunebench/data/pattern.h"

#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <pcre2.h>

#include "tunebench/base/error.h"

namespace tunebench::data {
namespace {

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct CompileContextDeleter {
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

const PCRE2_UCHAR* units(std::string_view text) {
  return reinterpret_cast<const PCRE2_UCHAR*>(text.data());
}

/// What a thread needs to match; made once a thread.
class MatchMemory {
 public:
  MatchMemory()
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr)) {
    if (data_ == nullptr || context_ == nullptr || stack_ == nullptr) {
      throw Error(ErrorCode::OutOfMemory, "no memory for matching regular expressions");
    }
    pcre2_jit_stack_assign(context_, nullptr, stack_);
  }
  ~MatchMemory() {
    pcre2_jit_stack_free(stack_);
    pcre2_match_context_free(context_);
    pcre2_match_data_free(data_);
  }
  MatchMemory(const MatchMemory&) = delete;
  MatchMemory& operator=(const MatchMemory&) = delete;

  [[nodiscard]] pcre2_match_data* data() const { return data_; }
  [[nodiscard]] pcre2_match_context* context() const { return context_; }

 private:
  static constexpr std::size_t kFirstStack = std::size_t{32} << 10U;
  static constexpr std::size_t kLargestStack = std::size_t{64} << 20U;
  pcre2_match_data* data_;
  pcre2_match_context* context_;
  pcre2_jit_stack* stack_;
};

const MatchMemory& match_memory() {
  static thread_local const MatchMemory memory;
  return memory;
}

}  // namespace

struct Pattern::Compiled {
  std::string source;                             ///< as the file has it
  std::unique_ptr<pcre2_code, CodeDeleter> code;  ///< none for a literal
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::literal(std::string text) {
  auto compiled = std::make_unique<Compiled>();
  compiled->source = std::move(text);
  return Pattern(std::move(compiled));
}

Pattern Pattern::regex(std::string_view expression) {
  const std::string translated = pcre2_expression(expression);
  const std::unique_ptr<pcre2_compile_context, CompileContextDeleter> context(
      pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  auto compiled = std::make_unique<Compiled>();
  compiled->source = expression;
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled->code.reset(pcre2_compile(
      units(translated), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C,
      &error, &offset, context.get()));
  if (compiled->code == nullptr) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("the expression '{}' is wrong: {}", expression, pcre2_message(error)));
  }
  // Without a compiler for this processor the interpreter gives the same matches, only slower.
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
  return Pattern(std::move(compiled));
}

std::optional<Span> Pattern::find(std::string_view text, std::size_t from) const {
  if (compiled_->code == nullptr) {
    const std::size_t at = text.find(compiled_->source, from);
    return at == std::string_view::npos
               ? std::nullopt
               : std::optional<Span>({.begin = at, .end = at + compiled_->source.size()});
  }
  const MatchMemory& memory = match_memory();
  const int found = pcre2_match(compiled_->code.get(), units(text), text.size(), from,
                                PCRE2_NO_UTF_CHECK, memory.data(), memory.context());
  if (found == PCRE2_ERROR_NOMATCH) {
    return std::nullopt;
  }
  if (found < 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("the expression '{}' cannot be matched on a text of {} bytes: {}",
                            compiled_->source, text.size(), pcre2_message(found)));
  }
  const PCRE2_SIZE* places = pcre2_get_ovector_pointer(memory.data());
  return Span{.begin = places[0], .end = places[1]};
}

}  // namespace tunebench::data
