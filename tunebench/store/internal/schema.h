#pragma once

#include "tunebench/store/internal/database.h"

namespace tunebench::store {

/// PRAGMA user_version of the files this program writes. A file of an older schema is brought up
/// to it when opened for writing.
inline constexpr int kSchema = 1;

/// What a file says of itself, before anything is written to it.
enum class FileKind { Empty, Ours };

/// Errors: Unsupported for a newer schema; Corrupt for a database of another program.
FileKind identify(const Database& database);

/// Makes the tables unless another process has done so meanwhile.
void create_schema(const Database& database);

}  // namespace tunebench::store
