// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tcp_port.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace ncclprobe::launch {
namespace {

constexpr int k_backlog = 1024;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// A host's own name often leads to its loopback (127.0.1.1), where no other host could connect.
bool means_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

base::Fd listen_on(const sockaddr* address, socklen_t size) {
  base::Fd socket = make_stream(address->sa_family);
  const int yes = 1;
  const int no = 0;
  if (!socket)
    return socket;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address->sa_family == AF_INET6)
    (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), k_backlog) != 0)
    return {};
  return socket;
}

base::Fd listen_on_all(int port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (base::Fd socket = listen_on(reinterpret_cast<sockaddr*>(&six), sizeof six))
    return socket;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  return listen_on(reinterpret_cast<sockaddr*>(&four), sizeof four);
}

} // namespace

Result<Addresses> addresses_of(const EnvJob& job) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (int code =
          ::getaddrinfo(job.address.c_str(), std::to_string(job.port).c_str(), &wanted, &found);
      code != 0)
    return fail(Errc::unavailable, "MASTER_ADDR={}: {}", job.address, ::gai_strerror(code));
  return Addresses(found);
}

base::Fd make_stream(int family) {
  return base::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void send_small_frames_at_once(const base::Fd& socket) {
  const int yes = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Only where MASTER_ADDR leads. If that is a service's address, or this host's name leads to the
// loopback, the port is opened on all addresses.
Result<base::Fd> open_listener(const EnvJob& job) {
  NCCLPROBE_TRY_ASSIGN(const Addresses addresses, addresses_of(job));
  int problem = 0;
  bool elsewhere = false;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (is_loopback(one->ai_addr) && !means_loopback(job.address)) {
      elsewhere = true;
      continue;
    }
    if (base::Fd socket = listen_on(one->ai_addr, one->ai_addrlen))
      return socket;
    problem = errno;
    elsewhere = elsewhere || errno == EADDRNOTAVAIL;
  }
  if (elsewhere) {
    if (base::Fd socket = listen_on_all(job.port))
      return socket;
    problem = errno;
  }
  return fail(
      Error{Errc::unavailable,
            fmt::format("rank 0 cannot listen on {}: {}",
                        job.address + ":" + std::to_string(job.port), std::strerror(problem)),
            "set NCCLPROBE_MASTER_PORT to a free port on every rank"});
}

TreePort open_tree_port(const FrameSocket& to_rank_0) {
  TreePort port;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(to_rank_0.fd(), any, &size) != 0)
    return port;
  // The port number has the same place in both families.
  reinterpret_cast<sockaddr_in*>(any)->sin_port = 0;
  port.listener = listen_on(any, size);
  std::array<char, NI_MAXHOST> name{};
  if (!port.listener || ::getsockname(port.listener.get(), any, &size) != 0 ||
      ::getnameinfo(any, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  port.address = name.data();
  port.port = ntohs(reinterpret_cast<sockaddr_in*>(any)->sin_port);
  return port;
}

} // namespace ncclprobe::launch
