#pragma once

#include "tunebench/base/json.h"
#include "tunebench/model/config_reader.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::model {

/// Reads what config.json says of rotation: base, scaling, how much of a head is rotated.
/// Errors: InvalidInput, Unsupported by key and value.
void read_rope(ConfigReader& reader, const Family& family, ModelSpec& spec);

/// Reads which layers see a window of how many positions. A window that cannot bind is none.
/// Errors: as above.
void read_window(ConfigReader& reader, const Family& family, ModelSpec& spec);

/// Writes what the two read back.
void write_positions(const ModelSpec& spec, const Family& family, Json& config);

}  // namespace tunebench::model
