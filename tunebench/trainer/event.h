#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tunebench::trainer {

/// The step protocol: one JSON object a line on the descriptor TUNEBENCH_EVENTS_FD (or the file
/// TUNEBENCH_EVENTS). Times are CLOCK_MONOTONIC nanoseconds. docs/step-protocol.md. Each process
/// of a distributed trainer tells its own events with its rank; RankMerge makes one stream of them.

struct HelloEvent {
  std::string trainer;
  std::string version;
  std::int64_t pid = 0;
  std::int64_t rank = 0;
  std::int64_t world = 1;
  std::string device;
  std::string isa;
  std::vector<std::pair<std::string, std::string>> notes;  ///< other text members, e.g. recompute
};
struct PhaseEvent {
  std::string name;  ///< load, compile, train, save
  std::int64_t t = 0;
  std::int64_t rank = 0;
};
/// One optimizer step, device synchronised at both ends.
struct StepEvent {
  std::int64_t n = 0;  ///< 1-based
  std::int64_t t0 = 0;
  std::int64_t t1 = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< computed, with padding
  std::int64_t tokens_nonpad = 0;
  std::int64_t tokens_trained = 0;  ///< positions with a loss
  /// Not set: the line does not tell it. NaN: the line says null, the number was not finite.
  std::optional<double> loss;
  std::optional<double> grad_norm;
  std::optional<double> learning_rate;
  std::int64_t rank = 0;
};
struct MemoryEvent {
  std::int64_t t = 0;
  std::int64_t device_peak_bytes = 0;
  std::int64_t host_peak_bytes = 0;
  std::vector<std::pair<std::string, std::int64_t>> parts;
  std::int64_t rank = 0;
};
struct ErrorEvent {
  std::string kind;  ///< an outcome name
  std::string message;
  std::int64_t needed_bytes = 0;
  std::string phase;
  std::int64_t step = 0;
  std::int64_t rank = 0;
};
struct EndEvent {
  std::string status;
  std::int64_t steps = 0;
  std::int64_t rank = 0;
};
using Event = std::variant<HelloEvent, PhaseEvent, StepEvent, MemoryEvent, ErrorEvent, EndEvent>;

/// One line, with or without the line break. Unknown events, lines that are not JSON and lines
/// without a member that their event needs give nullopt: a line cut short by a crash is dropped.
std::optional<Event> parse_event(std::string_view line);

/// The line of an event, with the line break. Numbers are exact: parse_event gives the same event
/// back.
std::string event_line(const Event& event);

}  // namespace tunebench::trainer
