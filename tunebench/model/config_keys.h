#pragma once

#include "tunebench/model/config_reader.h"

namespace tunebench::model {

/// Refuses each key known to change the arithmetic that nobody has read, unless its value changes
/// nothing. Errors: Unsupported naming key and value.
void refuse_what_alters(ConfigReader& reader);

/// Errors: Unsupported naming the method.
void refuse_quantized(ConfigReader& reader);

/// Warns of keys that nothing here knows.
void report_unknown(const ConfigReader& reader);

}  // namespace tunebench::model
