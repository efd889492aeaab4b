#include "tunebench/record/record.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <random>

#include <fmt/format.h>

#include "tunebench/base/error.h"

namespace tunebench::record {
namespace {

struct OutcomeName {
  Outcome outcome;
  std::string_view name;
};
constexpr std::array kOutcomes{
    OutcomeName{Outcome::Ok, "ok"},
    OutcomeName{Outcome::OomGpu, "oom_gpu"},
    OutcomeName{Outcome::OomHost, "oom_host"},
    OutcomeName{Outcome::InvalidConfig, "invalid_config"},
    OutcomeName{Outcome::Timeout, "timeout"},
    OutcomeName{Outcome::Nccl, "nccl"},
    OutcomeName{Outcome::Cuda, "cuda"},
    OutcomeName{Outcome::Io, "io"},
    OutcomeName{Outcome::Killed, "killed"},
    OutcomeName{Outcome::Interrupted, "interrupted"},
    OutcomeName{Outcome::Crashed, "crashed"},
    OutcomeName{Outcome::Skipped, "skipped"},
};

constexpr std::array<std::string_view, 7> kConditions{
    "metric_schema", "trainer", "trainer_version", "hardware_class", "driver", "cuda", "mig"};

/// Of milliseconds, then random: the parts of an id.
struct IdParts {
  std::uint64_t milliseconds = 0;
  std::uint64_t high = 0;  ///< 40 random bits
  std::uint64_t low = 0;   ///< 40 random bits, counted up within a millisecond
};

IdParts next_id() {
  static std::mutex guard;
  static IdParts last;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 40U) - 1;
  const std::scoped_lock lock(guard);
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
  if (now > last.milliseconds) {
    std::random_device random;
    const auto draw = [&random] {
      return ((std::uint64_t{random()} << 32U) | std::uint64_t{random()}) & kMask;
    };
    // Half of the range is left for counting up.
    last = {now, draw(), draw() >> 1U};
  } else {
    // The clock stood still or was put back: stay on the last time, so that ids keep their order.
    ++last.low;
  }
  return last;
}

void append_base32(std::string& text, std::uint64_t value, int digits) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  for (int digit = digits - 1; digit >= 0; --digit) {
    text += kDigits[(value >> (5U * static_cast<unsigned>(digit))) & 31U];
  }
}

/// Null in place of numbers that JSON cannot write.
Json exported(const Json& value) {
  const bool finite = !value.is_number() || std::isfinite(value.as_double());
  return finite ? value : Json();
}

}  // namespace

bool fits(FieldType type, const Json& value) {
  switch (type) {
    case FieldType::Integer:
      return value.is_int();
    case FieldType::Real:
      return value.is_number();
    case FieldType::Text:
      return value.is_string();
    case FieldType::Boolean:
      return value.is_bool();
  }
  return false;
}

std::string_view outcome_name(Outcome outcome) {
  const auto* found = std::ranges::find(kOutcomes, outcome, &OutcomeName::outcome);
  TB_CHECK(found != kOutcomes.end());
  return found->name;
}

std::optional<Outcome> find_outcome(std::string_view name) {
  const auto* found = std::ranges::find(kOutcomes, name, &OutcomeName::name);
  return found == kOutcomes.end() ? std::nullopt : std::optional(found->outcome);
}

void Record::set(std::string_view field, Json value) {
  const Field* known = find_field(field);
  if (known == nullptr) {
    throw Error(ErrorCode::Internal, fmt::format("there is no field '{}'", field));
  }
  if (!value.is_null() && !fits(known->type, value)) {
    throw Error(ErrorCode::Internal, fmt::format("field '{}' is {}", field, value.kind_name()));
  }
  measured.insert_or_assign(std::string(field), std::move(value));
}

const Json& Record::get(std::string_view field) const {
  static const Json kAbsent;
  const auto found = measured.find(std::string(field));
  return found == measured.end() ? kAbsent : found->second;
}

std::optional<double> Record::number(std::string_view field) const {
  const Json& value = get(field);
  return value.is_number() ? std::optional(value.as_double()) : std::nullopt;
}

std::span<const std::string_view> condition_names() {
  return kConditions;
}

std::string new_record_id() {
  const IdParts parts = next_id();
  std::string id;
  append_base32(id, parts.milliseconds, 10);
  append_base32(id, parts.high, 8);
  append_base32(id, parts.low, 8);
  return id;
}

std::string_view source_of(const Record& record) {
  if (record.trainer == kImported || record.trainer == "simulated") {
    return record.trainer;
  }
  return "measured";
}

Json flat(const Record& record) {
  Json::Object row;
  row.reserve(experiment::properties().size() + fields().size() + 32);
  row.emplace_back("run", record.run);
  row.emplace_back("status", outcome_name(record.status));
  row.emplace_back("reason", record.reason);
  row.emplace_back("is_valid", record.is_valid());
  row.emplace_back("experiment", record.experiment);
  row.emplace_back("repeat", record.repeat);
  row.emplace_back("attempt", record.attempt);
  for (const experiment::Property& property : experiment::properties()) {
    const auto input = record.inputs.find(property.name);
    row.emplace_back(property.name,
                     input == record.inputs.end() ? Json() : exported(input->second));
  }
  for (const Field& field : fields()) {
    row.emplace_back(field.name, exported(record.get(field.name)));
  }
  row.emplace_back("trainer_version", record.trainer_version);
  for (const std::string_view name : kConditions) {
    if (name != "trainer" && name != "trainer_version") {  // the first is an input
      const Json* condition = record.conditions.find(name);
      row.emplace_back(name, condition == nullptr ? Json() : *condition);
    }
  }
  row.emplace_back("id", record.id);
  row.emplace_back("key", record.key);
  row.emplace_back("point_key", record.point_key);
  row.emplace_back("started_at", record.started_at);
  row.emplace_back("log_path", record.log_path);
  row.emplace_back("source", source_of(record));
  return Json::object(std::move(row));
}

}  // namespace tunebench::record
