#pragma once

#include <filesystem>

namespace tunebench::outside {

/// A folder of links to `model`'s files in which config.json and tokenizer_config.json say what
/// transformers 4 reads: rope_theta and rope_scaling beside each other instead of rope_parameters
/// (a missing rope_theta is taken for 10000 without a word), torch_dtype instead of dtype, and a
/// tokenizer class that it has, and the special tokens that config.json names by number, lest a
/// trainer adds its own. What stands there already stays. `view` must not exist.
/// Errors: Io; InvalidInput when one of the two files is not JSON.
void make_version_4_view(const std::filesystem::path& model, const std::filesystem::path& view);

}  // namespace tunebench::outside
