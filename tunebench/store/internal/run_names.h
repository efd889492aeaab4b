#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::store {

/// Two words that `is_taken` does not know: brisk-otter. When many are taken a number is added:
/// brisk-otter-2.
std::string new_run_name(const std::function<bool(const std::string&)>& is_taken);

/// The name that `text` means: a full name, a prefix of exactly one, "@last" or "@last~1".
/// names: newest first; others: what else a user may have meant. Errors: NotFound with the nearest
/// name; InvalidInput when a prefix fits several.
std::string resolve_run_name(std::string_view text, const std::vector<std::string>& names,
                             const std::vector<std::string>& others = {});

}  // namespace tunebench::store
