#include "tunebench/trainer/control.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::trainer {

std::optional<int> Control::descriptor_from_environment() {
  const char* number = std::getenv("TUNEBENCH_CONTROL_FD");
  if (number == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> descriptor = parse_int(number);
  if (!descriptor.has_value() || *descriptor < 0 || *descriptor > 1'000'000 ||
      ::fcntl(static_cast<int>(*descriptor), F_GETFD) == -1) {
    throw Error(ErrorCode::InvalidInput,
                "TUNEBENCH_CONTROL_FD is '" + printable(number) + "', not an open descriptor");
  }
  return static_cast<int>(*descriptor);
}

std::unique_ptr<Control> Control::of_worker() {
  constexpr int kControllerGone = 3;
  const std::optional<int> descriptor = descriptor_from_environment();
  if (!descriptor.has_value()) {
    return nullptr;
  }
  return std::make_unique<Control>(*descriptor, [] { ::_exit(kControllerGone); });
}

Control::Control(int descriptor, std::function<void()> gone)
    : descriptor_(descriptor), gone_(std::move(gone)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (wake_.get() < 0) {
    throw Error(ErrorCode::Io, "no eventfd for the control channel: " +
                                   std::error_code(errno, std::generic_category()).message());
  }
  thread_ = std::thread([this] { read_until_end(); });
}

Control::~Control() {
  const std::uint64_t one = 1;
  // An eventfd at zero always takes a write of one.
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
  thread_.join();
}

void Control::read_until_end() {
  std::string line;
  std::array<char, 64> buffer{};
  while (true) {
    std::array<pollfd, 2> both{{{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) {
      continue;
    }
    if (both[1].revents != 0) {
      return;
    }
    const ssize_t got = ::read(descriptor_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (got <= 0) {
      gone_();
      return;
    }
    for (const char letter : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
      if (letter != '\n') {
        line += letter;
        continue;
      }
      if (line == "stop") {
        stop_.store(true, std::memory_order_release);
      }
      line.clear();
    }
  }
}

}  // namespace tunebench::trainer
