#pragma once

namespace tunebench::outside {

/// A TCP port that nobody uses on this machine's loopback at the moment; the system does not give
/// the same one again soon. Errors: Io when it has none.
int free_port();

}  // namespace tunebench::outside
