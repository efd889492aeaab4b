#pragma once

#include <functional>
#include <string>

namespace tunebench {

enum class LogLevel { Info, Warning };

/// The library never prints: what it wants to tell goes to this sink, which the command line sets.
/// Without a sink the text is dropped. Thread-safe.
void set_log_sink(std::function<void(LogLevel, const std::string&)> sink);
void log_info(const std::string& text);
void log_warning(const std::string& text);
/// A warning that the present sink has heard before is dropped: one line for a fault that every
/// measurement of a run meets.
void log_warning_once(const std::string& text);

}  // namespace tunebench
