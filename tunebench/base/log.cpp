#include "tunebench/base/log.h"

#include <mutex>
#include <set>
#include <utility>

namespace tunebench {
namespace {

struct Sink {
  std::mutex mutex;
  std::function<void(LogLevel, const std::string&)> write;
  std::set<std::string> heard;
};

Sink& sink() {
  static Sink the_sink;
  return the_sink;
}

void log(LogLevel level, const std::string& text) {
  const std::lock_guard lock(sink().mutex);
  if (sink().write) {
    sink().write(level, text);
  }
}

}  // namespace

void set_log_sink(std::function<void(LogLevel, const std::string&)> write) {
  const std::lock_guard lock(sink().mutex);
  sink().write = std::move(write);
  sink().heard.clear();
}

void log_info(const std::string& text) {
  log(LogLevel::Info, text);
}

void log_warning(const std::string& text) {
  log(LogLevel::Warning, text);
}

void log_warning_once(const std::string& text) {
  {
    const std::lock_guard lock(sink().mutex);
    if (!sink().heard.insert(text).second) {
      return;
    }
  }
  log(LogLevel::Warning, text);
}

}  // namespace tunebench
