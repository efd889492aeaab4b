#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::exchange {

/// A row, line or result that cannot be taken.
struct Rejected {
  std::string where;  ///< "history.csv:4", "result 4df692e4-... of entity r1"
  std::string reason;
};

/// What was taken in.
struct Imported {
  std::int64_t added = 0;          ///< records that are new here
  std::int64_t known = 0;          ///< records that were here already
  std::vector<std::string> runs;   ///< that show them, by their names here; none when all are known
  std::vector<Rejected> rejected;  ///< in the order of the file
  std::vector<std::string> notes;  ///< what a reader of the numbers must know
  bool refused = false;  ///< rows were rejected and none was to be left out: nothing was kept
};

/// Records read from a file that is not ours.
struct ForeignRecords {
  std::vector<record::Record> records;  ///< id and key set, run not
  std::vector<Rejected> rejected;
  std::vector<std::string> notes;
};

/// What a file is by its content, whatever its name.
enum class FileKind { Bundle, ForeignDatabase, OwnStore, Yaml, Csv };
/// Errors: NotFound, Io; Corrupt for an empty file.
FileKind kind_of(const std::filesystem::path& file);

/// Keeps foreign records under a new run of `command`, its begin now. Those that are here already
/// are only counted; when all are, there is no run. Rejected rows refuse everything unless
/// skip_bad.
Imported keep(store::Store& store, ForeignRecords&& foreign, const std::string& command,
              bool skip_bad);

/// The id of a record that has none of its own: the same for the same content, wherever it is
/// imported. `occurrence` tells equal rows of one file apart. Neither run nor environment count.
std::string content_id(const record::Record& record, std::int64_t occurrence);
/// Whether `text` could be a Record::id: letters, digits and dashes, safe as a file's name.
bool is_record_id(std::string_view text);

}  // namespace tunebench::exchange
