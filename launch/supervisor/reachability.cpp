// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/reachability.h"

#include "base/clock.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_sent_bytes = 32 << 10; // fits any receive buffer

struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_UNSPEC;
};

Result<Endpoint> endpoint_of(const std::string& address, int port) {
  Endpoint endpoint;
  auto* ipv4 = reinterpret_cast<sockaddr_in*>(&endpoint.storage);
  auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&endpoint.storage);
  if (inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(static_cast<std::uint16_t>(port));
    endpoint.size = sizeof *ipv4;
    endpoint.family = AF_INET;
  } else if (inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr) == 1) {
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(static_cast<std::uint16_t>(port));
    endpoint.size = sizeof *ipv6;
    endpoint.family = AF_INET6;
  } else {
    return fail(Errc::invalid_argument, "'{}' is not an IP address", address);
  }
  return endpoint;
}

base::Fd make_socket(const Endpoint& endpoint) {
  return base::Fd(::socket(endpoint.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* pointer_to(const Endpoint& endpoint) {
  return reinterpret_cast<const sockaddr*>(&endpoint.storage);
}

// The other side's kernel must acknowledge all of it, although nobody reads it. It is several full
// packets of any size: on a path that loses large packets, connecting works and nothing else does.
Result<void> send_some(int socket, std::chrono::milliseconds patience) {
  const std::string data(k_sent_bytes, 'x');
  ssize_t taken = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL); // may be less than all
  if (taken < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
    return fail(Errc::unavailable, "connected, but cannot send: {}", std::strerror(errno));
  for (base::Deadline end = base::Deadline::after(patience); !end.expired(); ::poll(nullptr, 0, 1))
    if (int left = 0; ::ioctl(socket, SIOCOUTQ, &left) != 0 || left == 0)
      return {};
  return fail(Errc::timed_out,
              "connected, but of {} bytes not all arrived within {} ms: large packets are lost on "
              "the way (MTU), or the link is overloaded",
              std::max<ssize_t>(taken, 0), patience.count());
}

} // namespace

Result<Listener> Listener::open(const std::string& address) {
  NCCLPROBE_TRY_ASSIGN(Endpoint endpoint, endpoint_of(address, 0));
  base::Fd socket = make_socket(endpoint);
  constexpr int k_waiting = 1024; // nobody accepts: the kernel completes the handshakes
  if (!socket || ::bind(socket.get(), pointer_to(endpoint), endpoint.size) != 0 ||
      ::listen(socket.get(), k_waiting) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&endpoint.storage), &endpoint.size) !=
          0)
    return fail(Errc::unavailable, "cannot listen on {}: {}", address, std::strerror(errno));
  // The port has the same offset in both kinds of address.
  int port = ntohs(reinterpret_cast<const sockaddr_in*>(&endpoint.storage)->sin_port);
  return Listener(std::move(socket), port);
}

Result<void> try_to_connect(const std::string& address, int port,
                            std::chrono::milliseconds patience) {
  NCCLPROBE_TRY_ASSIGN(const Endpoint endpoint, endpoint_of(address, port));
  base::Fd socket = make_socket(endpoint);
  if (!socket)
    return fail(Errc::unavailable, "no socket: {}", std::strerror(errno));
  if (::connect(socket.get(), pointer_to(endpoint), endpoint.size) == 0)
    return send_some(socket.get(), patience);
  if (errno != EINPROGRESS)
    return fail(Errc::unavailable, "{}", std::strerror(errno));
  pollfd waiting{socket.get(), POLLOUT, 0};
  int ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
  if (ready == 0)
    return fail(Errc::timed_out, "no answer within {} ms", patience.count());
  int error = 0;
  socklen_t size = sizeof error;
  if (ready < 0 || ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  if (error != 0)
    return fail(Errc::unavailable, "{}", std::strerror(error));
  return send_some(socket.get(), patience);
}

} // namespace ncclprobe::launch
