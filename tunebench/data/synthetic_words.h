#pragma once

#include <span>
#include <string_view>

namespace tunebench::data {

/// A few hundred common English words, lower case, ASCII, the common ones first. Part of what a
/// synthetic dataset holds: a change here changes every synthetic text, so the version in
/// synthetic_dataset.cpp has to change with it.
std::span<const std::string_view> synthetic_words();

}  // namespace tunebench::data
