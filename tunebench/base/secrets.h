#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tunebench {

/// The text with "***" in place of what looks like a secret: tokens with a known beginning (hf_,
/// sk-, ghp_, AKIA, ...), what follows a name that ends in token, password, secret, key and the
/// like (TOKEN=x, --token x, "token": "x", ?token=x), "Bearer x", and user and password in a URL.
/// It is a net under those who write a secret where it does not belong, not a proof that none is
/// left. Everything that is stored or printed of a command, a log or a reason goes through here.
std::string mask_secrets(std::string_view text);

/// The same for the words of a command, where the end of a value is known.
std::vector<std::string> mask_secrets(std::vector<std::string> words);

}  // namespace tunebench
