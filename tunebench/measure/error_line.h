#pragma once

#include <string>
#include <string_view>

namespace tunebench::measure {

/// The line of a failed program's output that says why: the last one that begins with the name of
/// an error ("ValueError: ...", "[rank1]: torch.OutOfMemoryError: ..."), what launchers write about
/// their children left out. Where a launcher names the rank that failed first, the last such line
/// of that rank. Empty when there is none.
std::string error_line(std::string_view log);

}  // namespace tunebench::measure
