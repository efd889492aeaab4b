#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tunebench::hub {

/// What the variables of Hugging Face's own tools say, by the same rules.
/// Source: huggingface_hub 2.4, constants.py and utils/_auth.py.

/// $HF_HOME, else huggingface in $XDG_CACHE_HOME or ~/.cache.
std::filesystem::path hf_home();

/// Where models are cached: $HF_HUB_CACHE, else hub in hf_home().
std::filesystem::path hub_cache();

/// $HF_ENDPOINT without trailing slashes, else https://huggingface.co.
/// Errors: InvalidInput when it is no http(s) address.
std::string endpoint();

/// $HF_HUB_OFFLINE or $TRANSFORMERS_OFFLINE is 1, true, yes or on.
bool offline();

/// A password of the hub, and where it was found; no message shows it.
struct Token {
  std::string value;   ///< empty: none
  std::string origin;  ///< "HF_TOKEN", or the name of a file
};

/// $HF_TOKEN, $HUGGING_FACE_HUB_TOKEN, else the file `home`/token, else that of hf_home();
/// $HF_TOKEN_PATH names another file. Nothing with $HF_HUB_DISABLE_IMPLICIT_TOKEN.
/// Errors: InvalidInput for one that no hub gives out: blanks or control characters within.
Token token(const std::filesystem::path& home);

}  // namespace tunebench::hub
