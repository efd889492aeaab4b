#pragma once

#include <string_view>

namespace tunebench::fuzz {

// What is done with one input: by libFuzzer with what it makes, by the replay test with what is
// kept in corpus/. A throw of anything but a user's Error, a hang and a crash are findings.

/// A plan or files of ado: read, written, read again, a space made and walked a little.
void try_plan(std::string_view text);
/// A condition: compiled, then evaluated over some values.
void try_expression(std::string_view text);

}  // namespace tunebench::fuzz
