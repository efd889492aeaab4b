#include "tunebench/trainer/event.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"

namespace tunebench::trainer {
namespace {

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

std::int64_t needed_int(const Json& line, std::string_view key) {
  return line.at(key).as_int();
}

std::int64_t int_or(const Json& line, std::string_view key, std::int64_t absent) {
  const Json* value = line.find(key);
  return value == nullptr ? absent : value->as_int();
}

std::string text_or_empty(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  return value == nullptr ? std::string() : value->as_string();
}

std::optional<double> real_if_told(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  return value->is_null() ? kNotFinite : value->as_double();
}

HelloEvent parse_hello(const Json& line) {
  HelloEvent hello;
  hello.trainer = line.at("trainer").as_string();
  hello.version = text_or_empty(line, "version");
  hello.pid = int_or(line, "pid", 0);
  hello.rank = int_or(line, "rank", 0);
  hello.world = int_or(line, "world", 1);
  hello.device = text_or_empty(line, "device");
  hello.isa = text_or_empty(line, "isa");
  static constexpr std::string_view kOwn[] = {"event", "trainer", "version", "pid",
                                              "rank",  "world",   "device",  "isa"};
  for (const Json::Member& member : line.as_object()) {
    bool own = false;
    for (const std::string_view name : kOwn) {
      own = own || member.first == name;
    }
    if (!own) {
      hello.notes.emplace_back(member.first, member.second.is_string() ? member.second.as_string()
                                                                       : member.second.dump());
    }
  }
  return hello;
}

StepEvent parse_step(const Json& line) {
  StepEvent step;
  step.n = needed_int(line, "n");
  step.t0 = needed_int(line, "t0");
  step.t1 = needed_int(line, "t1");
  step.samples = needed_int(line, "samples");
  step.tokens = needed_int(line, "tokens");
  step.tokens_nonpad = needed_int(line, "tokens_nonpad");
  step.tokens_trained = needed_int(line, "tokens_trained");
  step.loss = real_if_told(line, "loss");
  step.grad_norm = real_if_told(line, "grad_norm");
  step.learning_rate = real_if_told(line, "lr");
  step.rank = int_or(line, "rank", 0);
  return step;
}

MemoryEvent parse_memory(const Json& line) {
  MemoryEvent memory;
  memory.t = int_or(line, "t", 0);
  memory.device_peak_bytes = int_or(line, "device_peak_bytes", 0);
  memory.host_peak_bytes = int_or(line, "host_peak_bytes", 0);
  memory.rank = int_or(line, "rank", 0);
  const Json* parts = line.find("parts");
  if (parts != nullptr) {
    for (const Json::Member& part : parts->as_object()) {
      memory.parts.emplace_back(part.first, part.second.as_int());
    }
  }
  return memory;
}

std::optional<Event> parse_object(const Json& line) {
  const std::string& event = line.at("event").as_string();
  if (event == "step") {
    return parse_step(line);
  }
  if (event == "hello") {
    return parse_hello(line);
  }
  if (event == "phase") {
    return PhaseEvent{.name = line.at("name").as_string(),
                      .t = int_or(line, "t", 0),
                      .rank = int_or(line, "rank", 0)};
  }
  if (event == "memory") {
    return parse_memory(line);
  }
  if (event == "error") {
    return ErrorEvent{.kind = line.at("kind").as_string(),
                      .message = text_or_empty(line, "message"),
                      .needed_bytes = int_or(line, "needed_bytes", 0),
                      .phase = text_or_empty(line, "phase"),
                      .step = int_or(line, "step", 0),
                      .rank = int_or(line, "rank", 0)};
  }
  if (event == "end") {
    return EndEvent{.status = line.at("status").as_string(),
                    .steps = int_or(line, "steps", 0),
                    .rank = int_or(line, "rank", 0)};
  }
  return std::nullopt;
}

Json to_json(const HelloEvent& hello) {
  Json line = Json::object({{"event", "hello"},
                            {"trainer", hello.trainer},
                            {"version", hello.version},
                            {"pid", hello.pid},
                            {"rank", hello.rank},
                            {"world", hello.world},
                            {"device", hello.device},
                            {"isa", hello.isa}});
  for (const auto& [name, text] : hello.notes) {
    line.set(name, text);
  }
  return line;
}

Json to_json(const PhaseEvent& phase) {
  return Json::object({{"event", "phase"}, {"name", phase.name}, {"t", phase.t}});
}

Json to_json(const StepEvent& step) {
  Json line = Json::object({{"event", "step"},
                            {"n", step.n},
                            {"t0", step.t0},
                            {"t1", step.t1},
                            {"samples", step.samples},
                            {"tokens", step.tokens},
                            {"tokens_nonpad", step.tokens_nonpad},
                            {"tokens_trained", step.tokens_trained}});
  const auto tell = [&line](const char* key, const std::optional<double>& value) {
    if (value.has_value()) {
      line.set(key, std::isfinite(*value) ? Json(*value) : Json());
    }
  };
  tell("loss", step.loss);
  tell("grad_norm", step.grad_norm);
  tell("lr", step.learning_rate);
  return line;
}

Json to_json(const MemoryEvent& memory) {
  Json parts = Json::object();
  for (const auto& [name, bytes] : memory.parts) {
    parts.set(name, bytes);
  }
  return Json::object({{"event", "memory"},
                       {"t", memory.t},
                       {"device_peak_bytes", memory.device_peak_bytes},
                       {"host_peak_bytes", memory.host_peak_bytes},
                       {"parts", std::move(parts)}});
}

Json to_json(const ErrorEvent& error) {
  return Json::object({{"event", "error"},
                       {"kind", error.kind},
                       {"message", error.message},
                       {"needed_bytes", error.needed_bytes},
                       {"phase", error.phase},
                       {"step", error.step}});
}

Json to_json(const EndEvent& end) {
  return Json::object({{"event", "end"}, {"status", end.status}, {"steps", end.steps}});
}

}  // namespace

std::optional<Event> parse_event(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  if (line.empty()) {
    return std::nullopt;
  }
  try {
    return parse_object(Json::parse(line, "event"));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
    return std::nullopt;
  }
}

std::string event_line(const Event& event) {
  return std::visit(
             [](const auto& one) {
               Json line = to_json(one);
               if (one.rank > 0 && !std::is_same_v<std::decay_t<decltype(one)>, HelloEvent>) {
                 line.set("rank", one.rank);
               }
               return line;
             },
             event)
             .dump() +
         "\n";
}

}  // namespace tunebench::trainer
