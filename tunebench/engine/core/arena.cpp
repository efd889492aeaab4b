#include "tunebench/engine/core/arena.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/mman.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::engine {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

/// Sizes come from what users ask for, so their products may exceed 64 bits.
[[noreturn]] void throw_too_large() {
  throw Error(ErrorCode::OutOfMemory, "the memory needed exceeds 8 EiB");
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw_too_large();
  }
  return sum;
}

std::int64_t rounded_up(std::int64_t bytes) {
  return sum_of(bytes, kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t view_bytes(std::int64_t rows, std::int64_t cols, DType dtype) {
  TB_CHECK(rows >= 0 && cols >= 0);
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(dtype_bytes(dtype)), &bytes)) {
    throw_too_large();
  }
  return rounded_up(bytes);
}

/// Anonymous memory, zeroed by the system and resident only once it is touched.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes == 0) {
      return;
    }
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): the system's own macro
      throw Error(ErrorCode::OutOfMemory, "the system refuses the memory");
    }
    data_ = static_cast<std::byte*>(memory);
    if (bytes >= kHugePage) {
      // A hint only: fewer page faults and TLB misses where the system grants it.
      static_cast<void>(madvise(memory, bytes_, MADV_HUGEPAGE));
    }
  }
  ~Mapping() {
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping(Mapping&&) = delete;
  Mapping& operator=(Mapping&&) = delete;

  [[nodiscard]] std::byte* at(std::int64_t offset) const { return data_ + offset; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace

struct Arena::State {
  State() = default;
  State(std::int64_t persistent_bytes, std::int64_t scratch_bytes)
      : planning(false),
        persistent_capacity(rounded_up(persistent_bytes)),
        scratch_capacity(rounded_up(scratch_bytes)),
        memory(sum_of(persistent_capacity, scratch_capacity)) {}

  bool planning = true;
  std::int64_t persistent_capacity = 0;
  std::int64_t scratch_capacity = 0;
  std::int64_t persistent_used = 0;
  std::int64_t scratch_used = 0;
  std::int64_t scratch_high = 0;
  std::vector<Part> parts;
  Mapping memory;
};

Arena::Arena() : state_(std::make_unique<State>()) {}
Arena::~Arena() = default;
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;

Arena Arena::plan_only() {
  return {};
}

Arena Arena::reserve(std::int64_t persistent_bytes, std::int64_t scratch_bytes) {
  TB_CHECK(persistent_bytes >= 0 && scratch_bytes >= 0);
  Arena arena;
  const std::string note = fmt::format("reserving {} to keep and {} of scratch",
                                       format_bytes(persistent_bytes), format_bytes(scratch_bytes));
  arena.state_ =
      with_context(note, [&] { return std::make_unique<State>(persistent_bytes, scratch_bytes); });
  return arena;
}

bool Arena::planning() const {
  return state_->planning;
}

View Arena::persistent(std::string_view part, std::int64_t rows, std::int64_t cols, DType dtype) {
  State& state = *state_;
  const std::int64_t bytes = view_bytes(rows, cols, dtype);
  const std::int64_t begin = state.persistent_used;
  const std::int64_t end = sum_of(begin, bytes);
  TB_CHECK(state.planning || end <= state.persistent_capacity);
  state.persistent_used = end;
  const auto found = std::find_if(state.parts.begin(), state.parts.end(),
                                  [&](const Part& known) { return known.name == part; });
  if (found == state.parts.end()) {
    state.parts.push_back({std::string(part), bytes});
  } else {
    found->bytes += bytes;
  }
  return {state.planning ? nullptr : state.memory.at(begin), dtype, rows, cols, cols};
}

View Arena::push_scratch(std::int64_t rows, std::int64_t cols, DType dtype) {
  State& state = *state_;
  const std::int64_t bytes = view_bytes(rows, cols, dtype);
  const std::int64_t begin = state.scratch_used;
  const std::int64_t end = sum_of(begin, bytes);
  TB_CHECK(state.planning || end <= state.scratch_capacity);
  state.scratch_used = end;
  state.scratch_high = std::max(state.scratch_high, state.scratch_used);
  if (state.planning) {
    return {nullptr, dtype, rows, cols, cols};
  }
  std::byte* const data = state.memory.at(state.persistent_capacity + begin);
#if !defined(NDEBUG)
  // All bits set is NaN: reading scratch before writing it shows at once.
  std::memset(data, 0xff, static_cast<std::size_t>(bytes));
#endif
  return {data, dtype, rows, cols, cols};
}

std::int64_t Arena::scratch_mark() const {
  return state_->scratch_used;
}

void Arena::pop_scratch(std::int64_t mark) {
  TB_CHECK(mark >= 0 && mark <= state_->scratch_used);
  state_->scratch_used = mark;
}

std::vector<Arena::Part> Arena::report() const {
  std::vector<Part> parts = state_->parts;
  parts.push_back({"scratch", state_->scratch_high});
  return parts;
}

std::int64_t Arena::persistent_bytes() const {
  return state_->persistent_used;
}

std::int64_t Arena::scratch_high_water() const {
  return state_->scratch_high;
}

std::int64_t Arena::high_water() const {
  return sum_of(persistent_bytes(), scratch_high_water());
}

}  // namespace tunebench::engine
