#pragma once

#include <filesystem>

namespace tunebench::integration {

/// Makes the folder of a small Llama with a byte-level tokenizer: what a user downloads.
void make_model_folder(const std::filesystem::path& folder);

}  // namespace tunebench::integration
