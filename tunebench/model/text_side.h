#pragma once

#include <string_view>

#include "tunebench/base/json.h"
#include "tunebench/model/config_reader.h"

namespace tunebench::model {

/// Models that see images, too, and whose text side is a model of one of families(): its
/// configuration stands in text_config, its tensors are named "language_model.<name>". Only that
/// side is read and trained.
inline constexpr std::string_view kSeeingModelType = "llava_next";
inline constexpr std::string_view kTextSidePrefix = "language_model.";

/// Whether this is the config.json of such a model.
bool has_text_side(const Json& config);

/// The config.json that the text side would have alone: text_config, what it leaves out from the
/// whole or from its configuration class.
/// Errors: InvalidInput, Unsupported naming key and value.
Json text_side_config(ConfigReader& reader);

/// The config.json of such a model from that of its text side, without its image side.
Json with_text_side(Json text_config);

/// Whether a tensor belongs to the image side.
bool looks_at_images(std::string_view tensor);

}  // namespace tunebench::model
