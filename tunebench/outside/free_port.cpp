#include "tunebench/outside/free_port.h"

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tunebench/base/descriptor.h"
#include "tunebench/base/error.h"

namespace tunebench::outside {

int free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // The C interface takes every kind of address through one type.
  auto* any = reinterpret_cast<sockaddr*>(&address);  // NOLINT(*-reinterpret-cast)
  if (socket.get() < 0 || ::bind(socket.get(), any, size) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    throw Error(ErrorCode::Io, "no free port: " + std::generic_category().message(errno));
  }
  return ntohs(address.sin_port);
}

}  // namespace tunebench::outside
