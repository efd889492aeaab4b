#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/exchange/import.h"
#include "tunebench/record/record.h"

namespace tunebench::exchange {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// One measurement of elsewhere, before its values are read.
struct ForeignRow {
  std::string where;                      ///< for messages
  std::string experiment;                 ///< ours, or what the other system calls it
  NamedTexts inputs;                      ///< by property; the last of a name counts
  NamedTexts figures;                     ///< by field
  std::optional<record::Outcome> status;  ///< absent: ok
  std::string reason;
  std::string started_at;
  std::string source;  ///< Record::trainer_version: "ado SFTTrainer", the name of a CSV file
  std::int64_t repeat = 1;
  std::int64_t attempt = 1;
  std::string id;  ///< empty: made from the content
  bool simulated = false;
  bool may_be_bare = false;    ///< that it succeeded is all that is known
  bool fill_defaults = false;  ///< inputs that it does not name had the experiment's defaults
  /// Time and source do not count for its id: the reference system tells them in some of its files
  /// only, and the same result must be known again.
  bool id_of_values = false;
  Json environment;
};

/// Reads the values of rows, each with every mistake named, and makes records of those that have
/// none.
class ForeignRows {
 public:
  void add(const ForeignRow& row);
  void reject(std::string where, std::string reason);
  /// Each text once.
  void note(const std::string& text);
  ForeignRecords take() { return std::move(result_); }

 private:
  ForeignRecords result_;
  std::map<std::string, std::int64_t> seen_;  ///< how often each content came
};

/// Whether a cell says that there is no value: empty, null, None, nan, not_measured ...
bool says_nothing(std::string_view text);

/// A list as Python or JSON print it; nullopt when the cell is none.
std::optional<Json> list_of(std::string_view cell);

/// Text of a value as a cell would hold it.
std::string cell_of(const Json& value);

}  // namespace tunebench::exchange
