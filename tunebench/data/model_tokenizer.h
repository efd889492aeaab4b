#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tunebench/data/tokenizer.h"
#include "tunebench/model/model_source.h"

namespace tunebench::data {

/// The tokenizer of a model: tokenizer.json of its folder, the byte tokenizer for a preset.
/// Errors: NotFound when the folder has no tokenizer.json, naming what it has instead; those of
/// load_tokenizer; InvalidInput when the tokenizer has more ids than the model.
std::unique_ptr<Tokenizer> resolve_tokenizer(const model::ModelSource& source);

/// Refuses a tokenizer that can give an id for which the model has no row; fewer ids are fine.
/// Errors: InvalidInput with both numbers.
void check_vocabulary(const Tokenizer& tokenizer, const model::ModelSpec& spec);

/// The model_max_length of the folder's tokenizer_config.json. Nothing when there is no such file
/// or number, and for any number from the model's own limit on, since 1e30 is the usual way to
/// write "no limit". Errors: InvalidInput when it is no number or below 1.
std::optional<std::int64_t> tokenizer_length_limit(const model::ModelSource& source);

/// To how many tokens samples are cut: the least of `requested`, the model's max_positions and
/// tokenizer_length_limit.
std::int64_t effective_length(const model::ModelSource& source, std::int64_t requested);

}  // namespace tunebench::data
