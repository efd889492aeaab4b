#include "tunebench/trainer/simulation.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/core.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"

namespace tunebench::trainer {
namespace {

/// The model travels to the child as one argument, of which the system takes 128 KiB.
constexpr std::size_t kLongestFile = 65536;
constexpr double kAYear = 3.2e7;
constexpr double kMostBytes = 9e18;
constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 9> kErrorKinds = {
    "oom_gpu", "oom_host", "invalid_config", "timeout", "nccl", "cuda", "io", "killed", "crashed"};

/// Reads the members of one object; every member must be asked for.
class Members {
 public:
  Members(const Json& object, std::string origin, std::string path)
      : object_(object), origin_(std::move(origin)), path_(std::move(path)) {
    if (!object_.is_object()) {
      fail(path_.empty() ? "the document" : path_,
           fmt::format("is {}, it must be an object", object_.kind_name()));
    }
  }

  double number(const char* name, double absent, double least, double most = kAny) {
    const Json* value = take(name);
    if (value == nullptr) {
      return absent;
    }
    if (!value->is_number() || value->as_double() < least || value->as_double() > most) {
      fail(full(name), fmt::format("is {}, it must be a number {}", printable(value->dump()),
                                   most == kAny ? fmt::format("of at least {}", least)
                                                : fmt::format("from {} to {}", least, most)));
    }
    return value->as_double();
  }

  std::int64_t whole(const char* name, std::int64_t absent, std::int64_t least,
                     double most = kMostBytes) {
    const Json* value = take(name);
    if (value == nullptr) {
      return absent;
    }
    if (!value->is_int() || value->as_int() < least || value->as_double() > most) {
      fail(full(name), fmt::format("is {}, it must be a whole number {}", printable(value->dump()),
                                   most >= kMostBytes ? fmt::format("of at least {}", least)
                                                      : fmt::format("from {} to {}", least, most)));
    }
    return value->as_int();
  }

  std::string text(const char* name, std::string absent = "") {
    const Json* value = take(name);
    if (value == nullptr) {
      return absent;
    }
    if (!value->is_string()) {
      fail(full(name), fmt::format("is {}, it must be a string", value->kind_name()));
    }
    return value->as_string();
  }

  template <typename Words>
  std::string word(const char* name, std::string absent, const Words& words) {
    std::string value = text(name, std::move(absent));
    if (!value.empty() && std::ranges::find(words, value) == std::ranges::end(words)) {
      fail(full(name),
           fmt::format("is '{}', it must be one of {}", printable(value),
                       join(std::vector<std::string>(std::begin(words), std::end(words)), ", ")));
    }
    return value;
  }

  bool flag(const char* name) {
    const Json* value = take(name);
    if (value != nullptr && !value->is_bool()) {
      fail(full(name), fmt::format("is {}, it must be true or false", value->kind_name()));
    }
    return value != nullptr && value->as_bool();
  }

  std::vector<std::int64_t> counts(const char* name) {
    std::vector<std::int64_t> numbers;
    const Json* value = take(name);
    if (value == nullptr) {
      return numbers;
    }
    const auto is_count = [](const Json& one) { return one.is_int() && one.as_int() >= 1; };
    if (!value->is_array() || value->as_array().empty() ||
        !std::ranges::all_of(value->as_array(), is_count)) {
      fail(full(name), "must be a list of whole numbers of at least 1");
    }
    for (const Json& one : value->as_array()) {
      numbers.push_back(one.as_int());
    }
    return numbers;
  }

  /// Reads a member that is an object with `read`; leaves it alone when it is absent.
  template <typename Read>
  void object(const char* name, Read&& read) {
    if (const Json* value = take(name)) {
      Members members(*value, origin_, full(name));
      read(members);
      members.finish();
    }
  }

  template <typename Read>
  void objects(const char* name, Read&& read) {
    const Json* value = take(name);
    if (value == nullptr) {
      return;
    }
    if (!value->is_array()) {
      fail(full(name), fmt::format("is {}, it must be a list", value->kind_name()));
    }
    for (std::size_t i = 0; i < value->as_array().size(); ++i) {
      Members members(value->as_array()[i], origin_, fmt::format("{}[{}]", full(name), i));
      read(members);
      members.finish();
    }
  }

  /// Nothing may stand there that was not asked for.
  void finish() const {
    for (const Json::Member& member : object_.as_object()) {
      if (std::ranges::find(known_, member.first) == known_.end()) {
        const std::string hint = did_you_mean(member.first, known_);
        fail(full(member.first.c_str()),
             hint.empty() ? std::string("is not known") : "is not known - " + hint);
      }
    }
  }

  [[nodiscard]] bool has(const char* name) const { return object_.find(name) != nullptr; }

  [[noreturn]] void fail(const std::string& what, const std::string& why) const {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: {} {}", origin_, printable(what), why));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const Json* take(const char* name) {
    known_.emplace_back(name);
    return object_.find(name);
  }
  [[nodiscard]] std::string full(const char* name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  const Json& object_;
  std::string origin_;
  std::string path_;
  std::vector<std::string> known_;
};

Noise read_noise(Members& members) {
  static constexpr std::array<std::string_view, 2> kKinds = {"lognormal", "normal"};
  Noise noise;
  noise.normal = members.word("kind", "lognormal", kKinds) == "normal";
  noise.sd = members.number("sd", 0, 0, 1);
  return noise;
}

void read_step(Members& step, Simulation& simulation) {
  simulation.step_s = step.number("base_s", 0, 0, kAYear);
  simulation.token_s = step.number("per_token_s", 0, 0, kAYear);
  step.object("noise", [&](Members& noise) { simulation.step_noise = read_noise(noise); });
  step.object("run_noise", [&](Members& noise) { simulation.run_noise = read_noise(noise); });
  simulation.drift_per_step = step.number("drift_per_step", 0, -0.5, 1);
  simulation.drift_per_run = step.number("drift_per_run", 0, -0.5, 1);
  step.object("warmup", [&](Members& warmup) {
    simulation.warmup_extra = warmup.number("extra", 0, 0, 1e6);
    simulation.warmup_steps = warmup.number("steps", 3, 1e-3, 1e6);
  });
  step.object("outliers", [&](Members& outliers) {
    simulation.outlier_steps = outliers.number("steps", 0, 0, 1);
    simulation.outlier_runs = outliers.number("runs", 0, 0, 1);
    simulation.outlier_factor = outliers.number("factor", 3, 1e-3, 1e6);
  });
  step.finish();  // a misspelled base_s is told as that
  if (simulation.step_s <= 0 && simulation.token_s <= 0) {
    step.fail(step.path(), "needs base_s or per_token_s above 0");
  }
}

void read_memory(Members& memory, Simulation& simulation) {
  static constexpr std::array<std::string_view, 2> kKinds = {"oom_gpu", "oom_host"};
  simulation.memory_bytes = memory.whole("base_bytes", 0, 0);
  // A micro-batch of 1e9 tokens must not overflow.
  simulation.memory_token_bytes = memory.whole("per_token_bytes", 0, 0, 1e9);
  simulation.memory_limit_bytes = memory.whole("limit_bytes", 0, 0);
  simulation.memory_kind = memory.word("kind", "oom_gpu", kKinds);
}

SimulatedFailure read_failure(Members& members) {
  SimulatedFailure failure;
  failure.runs = members.counts("runs");
  failure.attempts = members.counts("attempts");
  failure.step = members.whole("step", 1, 0);
  failure.error = members.word("error", "", kErrorKinds);
  failure.message = members.text("message");
  failure.log = members.text("log");
  failure.signal = static_cast<int>(members.whole("signal", 0, 1, 31));
  failure.exit_code = static_cast<int>(members.whole("exit", 1, 0, 255));
  failure.hang = members.flag("hang");
  const int ways = (members.has("error") ? 1 : 0) + (members.has("signal") ? 1 : 0) +
                   (members.has("exit") ? 1 : 0) + (failure.hang ? 1 : 0);
  if (ways > 1 || (ways == 0 && failure.log.empty())) {
    members.fail(members.path(), "needs one of error, signal, exit, hang, or a log");
  }
  return failure;
}

}  // namespace

Simulation parse_simulation(std::string_view text, std::string_view origin) {
  if (text.size() > kLongestFile) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: a simulation may have {} bytes", origin, kLongestFile));
  }
  const Json document = Json::parse(text, origin);
  Simulation simulation;
  simulation.text = document.canonical();
  Members members(document, std::string(origin), "");
  simulation.seed = static_cast<std::uint64_t>(members.whole("seed", 1, 0));
  simulation.time_scale = members.number("time_scale", 1, 0, 1000);
  simulation.load_s = members.number("load_s", 0, 0, kAYear);
  simulation.save_s = members.number("save_s", 0, 0, kAYear);
  simulation.padding = members.number("padding", 0, 0, 0.99);
  if (!members.has("step")) {
    members.fail("step", "is missing");
  }
  members.object("step", [&](Members& step) { read_step(step, simulation); });
  members.object("memory", [&](Members& memory) { read_memory(memory, simulation); });
  members.objects("failures",
                  [&](Members& failure) { simulation.failures.push_back(read_failure(failure)); });
  members.finish();
  return simulation;
}

Simulation read_simulation(const std::filesystem::path& file) {
  return parse_simulation(read_file(file), display_path(file));
}

}  // namespace tunebench::trainer
