#include "tunebench/trainer/event_writer.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::trainer {
namespace {

std::string system_reason() {
  return std::error_code(errno, std::generic_category()).message();
}

}  // namespace

EventWriter EventWriter::from_environment() {
  const char* number = std::getenv("TUNEBENCH_EVENTS_FD");
  if (number != nullptr) {
    const std::optional<std::int64_t> descriptor = parse_int(number);
    if (!descriptor.has_value() || *descriptor < 0 || *descriptor > 1'000'000 ||
        ::fcntl(static_cast<int>(*descriptor), F_GETFD) == -1) {
      throw Error(ErrorCode::InvalidInput,
                  "TUNEBENCH_EVENTS_FD is '" + printable(number) + "', not an open descriptor");
    }
    return EventWriter(static_cast<int>(*descriptor));
  }
  const char* path = std::getenv("TUNEBENCH_EVENTS");
  if (path == nullptr) {
    return EventWriter(STDOUT_FILENO);
  }
  Descriptor file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    throw Error(ErrorCode::Io, "TUNEBENCH_EVENTS: " + printable(path) + ": " + system_reason());
  }
  EventWriter writer(file.get());
  writer.file_ = std::move(file);
  return writer;
}

void EventWriter::write(const Event& event) {
  const std::string line = event_line(event);
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw Error(ErrorCode::Io, "writing step events: " + system_reason());
    }
  }
}

}  // namespace tunebench::trainer
