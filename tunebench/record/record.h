#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::record {

/// Stored names never change. Schema 1.
enum class Outcome {
  Ok,
  OomGpu,
  OomHost,
  InvalidConfig,
  Timeout,
  Nccl,
  Cuda,
  Io,
  Killed,
  Interrupted,
  Crashed,
  Skipped,
};
std::string_view outcome_name(Outcome outcome);  ///< ok, oom_gpu, ...
std::optional<Outcome> find_outcome(std::string_view name);

/// Part of the reuse key: raised when the meaning of a metric changes.
inline constexpr int kMetricSchema = 2;

enum class Better { Higher, Lower, Neither };
enum class FieldType { Integer, Real, Text, Boolean };

/// One measured number or text: the only place that describes it.
struct Field {
  std::string name;  ///< unit as suffix: timed_s, peak_mem_bytes
  FieldType type = FieldType::Real;
  std::string unit;
  Better better = Better::Neither;
  std::string meaning;  ///< formula, what is counted and what is not
};
/// In the order of exports.
const std::vector<Field>& fields();
const Field* find_field(std::string_view name);
/// Whether a field of that type can hold the value.
bool fits(FieldType type, const Json& value);

/// Record::trainer of what was not measured by this program: a row of a CSV file, a result of the
/// reference system. Its key is no reuse key.
inline constexpr std::string_view kImported = "imported";

/// One attempt to measure one point. Never changed once stored.
struct Record {
  std::string id;   ///< unique, sortable by time
  std::string run;  ///< name of the run that made it
  std::string key;  ///< reuse key
  /// Hash of what is measured - experiment, inputs, fingerprints of model and data set - whatever
  /// measures it. Records of equal point_key and different key were made under other conditions.
  /// Empty in records made before it was kept.
  std::string point_key;
  std::string experiment;
  experiment::Inputs inputs;
  std::int64_t repeat = 1;   ///< 1-based round
  std::int64_t attempt = 1;  ///< 1-based retry
  std::string trainer;
  std::string trainer_version;
  Outcome status = Outcome::Ok;
  std::string reason;                    ///< empty when ok
  std::string started_at;                ///< ISO time, UTC
  std::string log_path;                  ///< the child's output, empty when none was kept
  std::map<std::string, Json> measured;  ///< by field name; absent: not measured
  /// Flat object, text by condition_names(): what the key holds beside the point. Null in records
  /// made before it was kept.
  Json conditions;
  Json environment;  ///< object: machine, build, libraries

  /// Errors: Internal when the name is not in fields(), so a typo cannot make a column.
  void set(std::string_view field, Json value);
  /// Null when absent.
  [[nodiscard]] const Json& get(std::string_view field) const;
  [[nodiscard]] std::optional<double> number(std::string_view field) const;
  [[nodiscard]] bool is_valid() const { return status == Outcome::Ok; }
};

/// metric_schema, trainer, trainer_version, hardware_class, driver, cuda, mig.
std::span<const std::string_view> condition_names();

/// Where the numbers come from: measured, imported or simulated.
std::string_view source_of(const Record& record);

/// A new Record::id: 26 characters, milliseconds since 1970 and 80 random bits in Crockford's
/// base 32. Ids of one process sort in the order they were made. Thread-safe.
std::string new_record_id();

/// Everything of a record but its environment as one flat object in a fixed order: run, status,
/// reason, is_valid, experiment, repeat, attempt, every input, every field, trainer_version, the
/// other conditions, id, key, point_key, started_at, log_path, source. Null when absent or not
/// finite. What exports are made of.
Json flat(const Record& record);

/// Loss-free text for the store and back; absent, null, NaN and both infinities stay different.
std::string to_text(const Record& record);
/// Errors: Corrupt naming what is missing or of the wrong kind.
Record from_text(std::string_view text);

/// The same text in two parts, since thousands of records have one environment: the record with an
/// environment of null, and the environment. environment_from_text has the errors of from_text.
std::string to_text_without_environment(const Record& record);
std::string environment_text(const Json& environment);
Json environment_from_text(std::string_view text);

}  // namespace tunebench::record
